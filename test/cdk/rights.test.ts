import assert from 'node:assert/strict';
import { test } from 'node:test';
import { propertiesById, synthesize } from './synthesize.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

interface PolicyProperties {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
}

/** X-Ray knows no resources: these two actions can only be allowed on everything. */
const WITHOUT_RESOURCE = ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'];

/** The agenda of the sweep lies in the entities table; uses of entities are noted there too. */
const NOTE = 'GetItem PutItem Query UpdateItem';
const HOLD = 'BatchGetItem BatchWriteItem DeleteItem GetItem PutItem Query UpdateItem';
const ALL = `${HOLD} ConditionCheckItem`;

const template = synthesize();
const policies = propertiesById<PolicyProperties>(template, 'AWS::IAM::Policy');

test('no policy has a wildcard, except where AWS knows no resource', () => {
  for (const [id, { PolicyDocument }] of policies) {
    for (const { Action, Resource } of PolicyDocument.Statement) {
      assert.ok(!JSON.stringify(Action).includes('*'), `${id} allows ${JSON.stringify(Action)}`);
      if (sorted(Action).join() === WITHOUT_RESOURCE.join()) continue;
      assert.ok(!JSON.stringify(Resource).includes('*'), `${id} on ${JSON.stringify(Resource)}`);
    }
  }
});

test('no role brings a managed policy, and nobody else has one', () => {
  const roles = propertiesById<{ ManagedPolicyArns?: unknown; Policies?: unknown }>(
    template,
    'AWS::IAM::Role',
  );
  assert.equal(roles.size, 5);
  for (const { ManagedPolicyArns, Policies } of roles.values()) {
    assert.deepEqual([ManagedPolicyArns, Policies], [undefined, undefined]);
  }
  assert.equal(policies.size, 5);
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
    const found = [...policies].find(([id]) => id.startsWith(`${name}Role`));
    assert.ok(found);
    const granted = found[1].PolicyDocument.Statement.map(({ Effect, Action, Resource }) => ({
      Effect,
      actions: sorted(Action),
      on: nameOf(Resource),
    }));
    const allow = (on: string, service: string, actions: string) => ({
      Effect: 'Allow',
      actions: actions
        .split(' ')
        .map((action) => `${service}:${action}`)
        .sort(),
      on,
    });
    assert.deepEqual(granted, [
      allow('*', 'xray', 'PutTelemetryRecords PutTraceSegments'),
      allow(`${name}Logs`, 'logs', 'CreateLogStream PutLogEvents'),
      allow('TablesEntities', 'dynamodb', entities),
      allow('TablesMessages', 'dynamodb', messages),
      ...(secret ? [allow('RootKey', 'secretsmanager', 'GetSecretValue')] : []),
    ]);
  });
}

function sorted(actions: string | readonly string[]): readonly string[] {
  return [actions].flat().sort();
}

/** The logical id of a resource of this stack, without its hash. */
function nameOf(resource: unknown): string {
  const text = JSON.stringify(resource);
  return /"(?<id>\w+?)[0-9A-F]{8}"/.exec(text)?.groups?.['id'] ?? JSON.parse(text);
}
