import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DeployedFunction } from '../cdk/declare/deployed.ts';
import { registerDeployed } from '../cdk/declare/deployed-scenarios.ts';
import { shown } from '../cdk/declare/shown.ts';
import {
  customResources,
  declareFunction,
  functionVariables,
  type WholeTemplate,
} from '../cdk/declare/template-stack.ts';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

/** An app of a user with entities, and the function behind them, both from the package. */

const { devDependencies } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'),
) as { readonly devDependencies: Readonly<Record<string, string>> };

/** The first deployment, and a later one, with settings, names and rules changed. */
const VERSIONS = {
  first: { lockSeconds: 30, audit: 'audit', least: 100 },
  later: { lockSeconds: 60, audit: 'log', least: 200 },
};
type Version = keyof typeof VERSIONS;

const APP = `
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { AuthorizationRule, Broker, Queue, Rule, Subscription, Topic } from 'dynabus/cdk';

for (const [outdir, { lockSeconds, audit, least }] of Object.entries(${JSON.stringify(VERSIONS)})) {
  const app = new App({ outdir });
  const stack = new Stack(app, 'Shop');
  const bus = new Broker(stack, 'Bus', { keepData: false });
  const failed = new Queue(bus, 'failed');
  const invoices = new Queue(bus, 'Invoices', { queueName: 'billing/invoices' });
  const orders = new Queue(bus, 'orders', {
    lockDuration: Duration.seconds(lockSeconds),
    forwardDeadLetteredMessagesTo: failed,
  });
  const events = new Topic(bus, 'events');
  const billing = new Subscription(events, 'billing', { forwardTo: invoices });
  new Rule(billing, 'large', { sql: { expression: 'Quantity > @least', parameters: { least } } });
  const log = new Subscription(events, 'Log', { subscriptionName: audit });
  new Rule(log, 'urgent', { correlation: { subject: 'urgent' } });
  new AuthorizationRule(orders, 'partner', { rights: ['Send'] });
  const fn = (id) =>
    new LambdaFunction(stack, id, {
      runtime: Runtime.NODEJS_24_X,
      handler: id + '.handler',
      code: Code.fromInline('exports.handler = async () => {};'),
    });
  const [sender, receiver] = [fn('Sender'), fn('Receiver')];
  orders.grantSend(sender);
  orders.addEnvironment(sender);
  orders.grantListen(receiver);
  log.grantListen(receiver);
  log.addEnvironment(receiver, 'AUDIT');
  app.synth();
}
`;

if (isMore()) {
  const project = Project.with('cdk-entities', [
    `aws-cdk-lib@${devDependencies['aws-cdk-lib']}`,
    'constructs',
  ]);
  project.write('app.mjs', APP);
  const { exitCode, output, errors } = project.run(['node', 'app.mjs']);
  assert.equal(exitCode, 0, output + errors);
  const textOf = (version: Version) =>
    readFileSync(join(project.folder, version, 'Shop.template.json'), 'utf8');
  const templateOf = (version: Version) => JSON.parse(textOf(version)) as WholeTemplate;
  const attributes = (resource: string, attribute?: string) =>
    attribute === 'ApiEndpoint' ? 'https://bus.example.com' : `${resource}.${attribute}`;
  const resourcesOf = (version: Version) => customResources(templateOf(version), attributes);
  const { environment, key = '' } = declareFunction(templateOf('first'));
  const asset = `asset.${key.replace(/\.zip$/, '')}`;
  const code = { file: join(project.folder, 'first', asset, 'index.js'), environment };

  test('the template of an app has its entities and rights, in the order of their dependencies', () => {
    const resources = Object.entries(resourcesOf('first'));
    const names = new Map(resources.map(([id, { properties }]) => [id, nameOf(properties)]));
    const { Resources } = templateOf('first');
    assert.deepEqual(
      resources.map(([id, { type, properties }]) => ({
        [nameOf(properties)]: type.replace('Custom::Dynabus', ''),
        ...(properties['Settings'] !== undefined && JSON.parse(String(properties['Settings']))),
        ...(properties['Rights'] !== undefined && { rights: properties['Rights'] }),
        after: [Resources[id]?.DependsOn ?? []].flat().map((other) => names.get(other)),
      })),
      [
        { failed: 'Queue', after: [] },
        { 'billing/invoices': 'Queue', after: [] },
        {
          orders: 'Queue',
          lockDuration: 'PT30S',
          forwardDeadLetteredMessagesTo: 'failed',
          after: ['failed'],
        },
        { 'orders partner': 'AuthorizationRule', rights: ['Send'], after: ['orders'] },
        { events: 'Topic', after: [] },
        {
          'events/Subscriptions/billing': 'Subscription',
          forwardTo: 'billing/invoices',
          rules: [
            {
              name: 'large',
              sql: { expression: 'Quantity > @least', parameters: { least: 100 } },
            },
          ],
          after: ['events', 'billing/invoices'],
        },
        {
          'events/Subscriptions/audit': 'Subscription',
          rules: [{ name: 'urgent', correlation: { subject: 'urgent' } }],
          after: ['events'],
        },
        { 'orders KEY': 'AuthorizationRule', rights: ['Send'], after: ['orders'] },
        { 'orders KEY': 'AuthorizationRule', rights: ['Listen'], after: ['orders'] },
        { 'events KEY': 'AuthorizationRule', rights: ['Listen'], after: ['events'] },
      ],
    );
  });

  test('the template of an app names where keys are, and has none', () => {
    const text = textOf('first');
    for (const part of ['SharedAccessKey=', '"SecretString"', 'resolve:']) {
      assert.ok(!text.includes(part), part);
    }
    const variables = functionVariables(templateOf('first'), 'Receiver.handler', attributes);
    const { AUDIT_CONNECTION_PARAMETER: parameter = '', ...others } = variables;
    assert.deepEqual(others, {
      AUDIT_ENDPOINT: 'https://bus.example.com',
      AUDIT_ENTITY: 'events/Subscriptions/audit',
    });
    assert.match(parameter, /^\/dynabus\/Shop\/Bus\/events\/[\w.-]+$/);
    // The function may read its own parameters, and no others.
    const policies = Object.values(templateOf('first').Resources).filter(
      ({ Type, Properties = {} }) =>
        Type === 'AWS::IAM::Policy' && /"ReceiverServiceRole/.test(JSON.stringify(Properties)),
    );
    const parameters = [...JSON.stringify(policies).matchAll(/:parameter(\/[^"]+)/g)];
    assert.deepEqual(parameters.map(([, name = '']) => name.replace(/\/[^/]+$/, '')).sort(), [
      '/dynabus/Shop/Bus/events',
      '/dynabus/Shop/Bus/orders',
    ]);
  });

  test('the entities of an app are made, changed and deleted, with the waits of a deployment', async (t) => {
    const deployed = await DeployedFunction.start(t, code, { waitsForLeases: true });
    const { management } = deployed.namespace;
    const named = async () => (await shown(management)).map(withoutKeyName).sort();
    const stack = deployed.stack('Shop');
    assert.equal(await stack.deploy(resourcesOf('first')), undefined);
    assert.deepEqual(await named(), shownWith('audit'));
    const before = new Map(deployed.parameters);
    assert.equal(before.size, 4);
    assert.equal(await stack.deploy(resourcesOf('later')), undefined);
    assert.deepEqual(await named(), shownWith('log'));
    assert.deepEqual(deployed.parameters, before);
    const { description } = await management.get('orders');
    assert.ok(description.kind === 'queue');
    assert.equal(description.lockMs, 60_000);
    await stack.delete();
    assert.deepEqual(await shown(management), []);
    assert.equal(deployed.parameters.size, 0);
  });

  registerDeployed('the package', () => code, 2);
}

function nameOf({ Name, Entity, KeyName }: Readonly<Record<string, unknown>>): string {
  return Name === undefined ? withoutKeyName(`${Entity} ${KeyName}`) : String(Name);
}

/** Names of the rules that grants make have a hash. */
function withoutKeyName(name: string): string {
  return name.replace(/ Shop\S+/, ' KEY');
}

function shownWith(audit: string): readonly string[] {
  return [
    'billing/invoices',
    'events',
    'events KEY Listen',
    'events/Subscriptions/billing',
    'events/Subscriptions/billing/Rules/large',
    `events/Subscriptions/${audit}`,
    `events/Subscriptions/${audit}/Rules/urgent`,
    'failed',
    'orders',
    'orders KEY Listen',
    'orders KEY Send',
    'orders partner Send',
  ].sort();
}
