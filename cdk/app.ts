import { App } from 'aws-cdk-lib';
import { SettingsError } from './setting-faults.ts';
import { readStageSettings } from './settings.ts';
import { BrokerStack } from './stacks/broker-stack.ts';

try {
  const app = new App();
  const settings = readStageSettings(app.node.getAllContext());
  new BrokerStack(app, `dynabus-${settings.stage}`, settings);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // A person typed it: the sentences say all there is to know, and a stack trace would bury them.
  console.error(error.message);
  process.exit(1);
}
