import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { bundle } from '../../../cdk/constructs/bundle.ts';
import { ENGINE_REGION } from '../../../local/engine/engine-address.ts';
import { startServer } from '../../../local/server.ts';
import { ApiClient } from '../../support/api-client.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { DeployedFunction } from '../declare/deployed.ts';
import { shown } from '../declare/shown.ts';
import {
  customResources,
  declareFunction,
  functionVariables,
  type WholeTemplate,
} from '../declare/template-stack.ts';

/** samples/cdk: its app is synthesised from the sources, its entities are made, and its functions use them. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SAMPLE = join(ROOT, 'samples/cdk');
const FROM_SOURCE = fileURLToPath(new URL('from-source.mjs', import.meta.url));

const output = mkdtempSync(join(tmpdir(), 'dynabus-sample-'));
after(() => rmSync(output, { recursive: true }));

/** The template of the sample, which takes seconds. The code of its broker is not bundled. */
function synthesized(): WholeTemplate {
  const CDK_OUTDIR = join(output, 'cdk.out');
  execFileSync(process.execPath, ['--import', 'tsx', '--import', FROM_SOURCE, 'app.js'], {
    cwd: SAMPLE,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      CDK_OUTDIR,
      CDK_CONTEXT_JSON: '{"aws:cdk:bundling-stacks":[]}',
    },
  });
  return JSON.parse(readFileSync(join(CDK_OUTDIR, 'Shop.template.json'), 'utf8'));
}

test('the sample cdk declares its entities, and its functions send and receive', async (t) => {
  const template = synthesized();
  const { environment } = declareFunction(template);
  bundle('declare', join(output, 'declare'));
  const file = join(output, 'declare', 'index.js');
  const deployed = await DeployedFunction.start(t, { file, environment });
  const url = await serve(t, deployed);
  const attributes = (resource: string, attribute?: string) =>
    attribute === 'ApiEndpoint' ? url : `${resource}.${attribute}`;

  const stack = deployed.stack('Shop');
  assert.equal(await stack.deploy(customResources(template, attributes)), undefined);
  const names = await shown(deployed.namespace.management);
  assert.deepEqual(names.map((name) => name.replace(/ Shop\S+/, ' KEY')).sort(), [
    'events',
    'events KEY Send',
    'events/Subscriptions/audit',
    'events/Subscriptions/audit/Rules/cancelled',
    'events/Subscriptions/audit/Rules/ordered',
    'events/Subscriptions/billing',
    'events/Subscriptions/billing/Rules/worth-an-invoice',
    'failed',
    'invoices',
    'orders',
    'orders KEY Listen',
    'orders KEY Send',
  ]);

  const { ssmUrl } = deployed;
  const invoke = async (handler: string, event: unknown) =>
    await invokeSample(handler, event, {
      ...functionVariables(template, `${handler}.handler`, attributes),
      AWS_ENDPOINT_URL_SSM: ssmUrl,
    });
  await invoke('place-order', { id: 1, total: 12 });
  await invoke('place-order', { id: 2, total: 3 });
  await deployed.namespace.idle();

  const api = new ApiClient(url, ROOT_KEY);
  const received = async (path: string) => {
    const answer = await api.request('DELETE', `${path}/messages/head?maxMessages=9&timeout=0`);
    return answer.json<readonly { readonly Body: string }[]>().map(({ Body }) => Body);
  };
  const both = ['{"id":1,"total":12}', '{"id":2,"total":3}'];
  assert.deepEqual(await received('invoices'), [both[0]]);
  assert.deepEqual(await received('events/Subscriptions/audit'), both);
  assert.deepEqual(
    await invoke('ship-orders', {}),
    both.map((body) => JSON.parse(body)),
  );
  assert.deepEqual(await invoke('ship-orders', {}), []);
});

async function serve(t: TestContext, { namespace }: DeployedFunction): Promise<string> {
  const { app, dependencies } = namespace;
  const server = await startServer({
    app,
    memory: dependencies.memory,
    host: '127.0.0.1',
    port: 0,
  });
  t.after(() => server.close());
  return server.url;
}

/** Runs a function of the sample in a process of its own. Returns its result. */
async function invokeSample(
  handler: string,
  event: unknown,
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const file = pathToFileURL(join(SAMPLE, 'functions', `${handler}.mjs`)).href;
  const program = `
    const { handler } = await import(${JSON.stringify(file)});
    console.log(JSON.stringify((await handler(${JSON.stringify(event)})) ?? null));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    env: {
      ...environment,
      AWS_REGION: ENGINE_REGION,
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    },
  });
  return JSON.parse(stdout);
}
