import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

interface PolicyProperties {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
}

/** Actions that can only be allowed on everything: X-Ray knows no resources, nor does a login. */
const WITHOUT_RESOURCE = [
  'xray:PutTelemetryRecords,xray:PutTraceSegments',
  'ecr:GetAuthorizationToken',
];

/** The due-work index of the sweep is in the entities table; uses of entities are noted there too. */
const NOTE = 'GetItem PutItem Query UpdateItem';
const HOLD = 'BatchGetItem BatchWriteItem DeleteItem GetItem PutItem Query UpdateItem';
const ALL = `${HOLD} ConditionCheckItem`;

const template = synthesize();
const policies = policiesOf({});
const withGateway = policiesOf({ amqp: AMQP, tracing: true });

/** Parameters of declared authorization rules lie below the one prefix of their broker. */
const PARAMETER_ACTIONS = 'ssm:DeleteParameter,ssm:PutParameter';

test('no policy has a wildcard, except where AWS knows no resource, and below the prefix of parameters', () => {
  for (const [id, { PolicyDocument }] of withGateway) {
    for (const { Action, Resource } of PolicyDocument.Statement) {
      assert.ok(!JSON.stringify(Action).includes('*'), `${id} allows ${JSON.stringify(Action)}`);
      if (WITHOUT_RESOURCE.includes(sorted(Action).join())) continue;
      const isOfParameters = sorted(Action).join() === PARAMETER_ACTIONS;
      const resource = JSON.stringify(Resource).replace(isOfParameters ? /\/\*"/ : /$^/, '"');
      assert.ok(!resource.includes('*'), `${id} on ${resource}`);
    }
  }
});

test('no role brings a managed policy, and nobody else has one', () => {
  const roles = propertiesById<{ ManagedPolicyArns?: unknown; Policies?: unknown }>(
    template,
    'AWS::IAM::Role',
  );
  assert.equal(roles.size, 6);
  for (const { ManagedPolicyArns, Policies } of roles.values()) {
    assert.deepEqual([ManagedPolicyArns, Policies], [undefined, undefined]);
  }
  assert.equal(policies.size, 6);
});

const RIGHTS = {
  Send: {
    entities: 'GetItem PutItem Query',
    messages: 'BatchWriteItem ConditionCheckItem GetItem PutItem Query UpdateItem',
    secret: true,
  },
  Receive: { entities: NOTE, messages: HOLD, secret: true },
  Settle: { entities: NOTE, messages: HOLD, secret: true },
  Manage: { entities: ALL, messages: ALL, secret: true },
  Sweep: { entities: ALL, messages: ALL, secret: false },
} as const;

for (const [name, { entities, messages, secret }] of Object.entries(RIGHTS)) {
  test(`${name} has exactly the rights it needs`, () => {
    assert.deepEqual(grantedTo(`${name}Role`), [
      allow(`${name}Logs`, 'logs', 'CreateLogStream PutLogEvents'),
      allow('TablesEntities', 'dynamodb', entities),
      allow('TablesMessages', 'dynamodb', messages),
      ...(secret ? [allow('RootKey', 'secretsmanager', 'GetSecretValue')] : []),
    ]);
  });
}

test('Declare has the rights of management on the tables, and writes parameters', () => {
  const [logs, ...others] = grantedTo('DeclareRole');
  assert.deepEqual(logs, allow('DeclareLogs', 'logs', 'CreateLogStream PutLogEvents'));
  assert.deepEqual(others.slice(0, -1), [
    allow('TablesEntities', 'dynamodb', ALL),
    allow('TablesMessages', 'dynamodb', ALL),
  ]);
  assert.deepEqual(others.at(-1)?.actions, ['ssm:DeleteParameter', 'ssm:PutParameter']);
});

test('behind a function URL, manage alone serves clients, with the same rights', () => {
  const behindUrl = policiesOf({ endpoint: 'functionUrl' });
  assert.deepEqual(
    [...behindUrl.keys()].map((id) => id.replace(/RoleDefault.*/, '')),
    ['Manage', 'Declare', 'Sweep'],
  );
  assert.deepEqual(grantedTo('ManageRole', behindUrl), grantedTo('ManageRole'));
});

test('only functions that are traced may write traces', () => {
  const traced = policiesOf({ tracing: true });
  for (const name of Object.keys(RIGHTS)) {
    const [traces, ...others] = grantedTo(`${name}Role`, traced);
    assert.deepEqual(traces, allow('*', 'xray', 'PutTelemetryRecords PutTraceSegments'));
    assert.deepEqual(others, grantedTo(`${name}Role`));
  }
});

test('the version of the secret before the current one may be read, too: no condition names a stage', () => {
  const granted = [...withGateway.values()].flatMap(({ PolicyDocument }) =>
    PolicyDocument.Statement.filter(({ Action }) =>
      [Action].flat().includes('secretsmanager:GetSecretValue'),
    ),
  );
  assert.equal(granted.length, 5);
  for (const { Condition } of granted) assert.equal(Condition, undefined);
});

test('a task of the gateway has the rights of the functions behind HTTP together, and no others', () => {
  assert.deepEqual(grantedTo('AmqpTaskTaskRole'), [
    allow('TablesEntities', 'dynamodb', ALL),
    allow('TablesMessages', 'dynamodb', ALL),
    allow('RootKey', 'secretsmanager', 'GetSecretValue'),
  ]);
});

test('what starts a task may fetch its image and write its log', () => {
  const granted = grantedTo('AmqpTaskExecutionRole');
  assert.deepEqual(
    granted.map(({ actions }) => actions.join(' ')),
    [
      'ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:GetDownloadUrlForLayer',
      'ecr:GetAuthorizationToken',
      'logs:CreateLogStream logs:PutLogEvents',
    ],
  );
  assert.equal(granted.at(-1)?.on, 'AmqpTaskLogs');
  assert.equal(withGateway.size, policies.size + 2);
});

function policiesOf(stage: Readonly<Record<string, unknown>>) {
  return propertiesById<PolicyProperties>(synthesize(stage), 'AWS::IAM::Policy');
}

function grantedTo(role: string, from = role.startsWith('Amqp') ? withGateway : policies) {
  const found = [...from].find(([id]) => id.startsWith(role));
  assert.ok(found);
  return found[1].PolicyDocument.Statement.map(({ Effect, Action, Resource }) => ({
    Effect,
    actions: sorted(Action),
    on: nameOf(Resource),
  }));
}

function allow(on: string, service: string, actions: string) {
  const named = actions.split(' ').map((action) => `${service}:${action}`);
  return { Effect: 'Allow', actions: named.sort(), on };
}

function sorted(actions: string | readonly string[]): readonly string[] {
  return [actions].flat().sort();
}

/** The logical id of a resource of this stack, without its hash. */
function nameOf(resource: unknown): string {
  const text = JSON.stringify(resource);
  return /"(?<id>\w+?)[0-9A-F]{8}"/.exec(text)?.groups?.['id'] ?? JSON.parse(text);
}
