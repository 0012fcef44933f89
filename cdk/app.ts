import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { SettingsError } from './setting-faults.ts';
import { readStageSettings } from './settings.ts';
import { BrokerStack } from './stacks/broker-stack.ts';

try {
  const app = new App();
  const settings = readStageSettings(app.node.getAllContext(), contextOfPerson());
  new BrokerStack(app, `dynabus-${settings.stage}`, settings);
  const { stage, tier, access, endpoint, keepData } = settings;
  console.error(
    `Stage '${stage}': tier ${tier}, access ${access}, endpoint ${endpoint}, keepData ${keepData}.`,
  );
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // A person typed the settings; a stack trace would hide the sentences that say what is wrong.
  console.error(error.message);
  process.exit(1);
}

/** The context in the user's `~/.cdk.json`, which CDK adds to every project's. */
function contextOfPerson(): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(join(homedir(), '.cdk.json'), 'utf8')).context ?? {};
  } catch {
    return {};
  }
}
