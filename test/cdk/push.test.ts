import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Template } from 'aws-cdk-lib/assertions';
import { VARIABLES } from '../../shared/app/variables.ts';
import { alarmsOf, ringing } from './alarm-states.ts';
import { shop } from './entities/app.ts';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

const WORKER = 'arn:aws:lambda:eu-central-1:111122223333:function:worker';
const OTHER = 'arn:aws:lambda:eu-central-1:111122223333:function:other';
const FUNCTION = 'AWS::Lambda::Function';

const off = synthesize();
const on = synthesize({ push: true });
const withTargets = synthesize({ push: { targets: [WORKER, OTHER], memoryMb: 512 }, amqp: AMQP });

interface FunctionProperties {
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
  readonly MemorySize: number;
  readonly RecursiveLoop?: string;
  readonly ReservedConcurrentExecutions?: number;
  readonly Timeout: number;
}

interface Mapping {
  readonly FilterCriteria: { readonly Filters: readonly { readonly Pattern: string }[] };
}

function functionOf(template: Template, start: string): FunctionProperties {
  const all = propertiesById<FunctionProperties>(template, FUNCTION);
  const found = [...all].find(([id]) => id.startsWith(start));
  return found?.[1] ?? assert.fail(`no function ${start}`);
}

/** The actions of each policy on resources, by the beginning of the policy's id. */
function rightsOf(template: Template, start: string): readonly (readonly [string, string])[] {
  interface Policy {
    readonly PolicyDocument: {
      readonly Statement: readonly {
        readonly Action: string | string[];
        readonly Resource: unknown;
      }[];
    };
  }
  const policies = [...propertiesById<Policy>(template, 'AWS::IAM::Policy')];
  return policies
    .filter(([id]) => id.startsWith(start))
    .flatMap(([, { PolicyDocument }]) => PolicyDocument.Statement)
    .map(({ Action, Resource }) => {
      const actions = [Action].flat().map((one) => one.replace('dynamodb:', ''));
      return [actions.sort().join(' '), JSON.stringify(Resource)] as const;
    });
}

test('a stage without push has nothing of it', () => {
  off.resourceCountIs('AWS::Lambda::EventSourceMapping', 0);
  off.resourceCountIs(FUNCTION, 6);
  assert.doesNotMatch(JSON.stringify(off.toJSON()), /PUSH_|StreamSpecification|IteratorAge/);
  assert.equal(shop().bus.pushRoleArn, undefined);
});

test('the stream of the messages table calls wake for items with a mark of consumers, and for no others', () => {
  on.resourceCountIs('AWS::Lambda::EventSourceMapping', 1);
  on.hasResourceProperties('AWS::DynamoDB::Table', {
    StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
  });
  const [mapping] = propertiesById<Mapping>(on, 'AWS::Lambda::EventSourceMapping').values();
  const { FilterCriteria, ...others } = mapping ?? assert.fail('no mapping');
  assert.deepEqual(
    FilterCriteria.Filters.map(({ Pattern }) => JSON.parse(Pattern)),
    [
      { eventName: ['INSERT'], dynamodb: { NewImage: { j: { N: ['1'] } } } },
      { eventName: ['INSERT', 'MODIFY'], dynamodb: { NewImage: { j: { N: ['2'] } } } },
    ],
  );
  const text = JSON.stringify(others);
  assert.match(text, /"EventSourceArn":\{"Fn::GetAtt":\["TablesMessages\w+","StreamArn"\]\}/);
  assert.match(text, /"FunctionName":\{"Ref":"PushWake\w+"\}/);
  // Without a number of tries, an item is tried until it is too old.
  assert.deepEqual(Object.keys(others).sort(), [
    'BatchSize',
    'EventSourceArn',
    'FunctionName',
    'MaximumRecordAgeInSeconds',
    'StartingPosition',
  ]);
  assert.match(text, /"BatchSize":100,.*"MaximumRecordAgeInSeconds":3600,/);
  assert.match(text, /"StartingPosition":"TRIM_HORIZON"/);
});

test('push runs for 15 minutes, may start itself without end, and reserves no executions', () => {
  const push = functionOf(on, 'PushWorker');
  assert.equal(push.Timeout, 900);
  assert.equal(push.MemorySize, 256);
  assert.equal(push.RecursiveLoop, 'Allow');
  assert.equal(push.ReservedConcurrentExecutions, undefined);
  assert.equal(functionOf(withTargets, 'PushWorker').MemorySize, 512);
  assert.equal(functionOf(on, 'PushWake').RecursiveLoop, undefined);
  assert.equal(functionOf(on, 'PushWake').Timeout, 60);
  on.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    MaximumRetryAttempts: 2,
    MaximumEventAgeInSeconds: 3600,
  });
});

test('who starts workers knows the function that pushes, and management the targets', () => {
  const variables = (template: Template, start: string) =>
    Object.entries(functionOf(template, start).Environment.Variables)
      .filter(([name]) => name.startsWith('PUSH_'))
      .map(([name, value]) => [
        name,
        typeof value === 'string' ? value : 'Ref' in (value as object),
      ]);
  for (const start of ['PushWake', 'Sweep', 'Manage']) {
    assert.deepEqual(variables(on, start), [[VARIABLES.pushFunction, true]], start);
  }
  for (const start of ['PushWorker', 'Send', 'Receive', 'Settle', 'Declare']) {
    assert.deepEqual(variables(on, start), [], start);
  }
  assert.deepEqual(variables(withTargets, 'Manage'), [
    [VARIABLES.pushFunction, true],
    [VARIABLES.pushTargets, `${WORKER} ${OTHER}`],
  ]);
  // The gateway serves management, too.
  const tasks = JSON.stringify(withTargets.findResources('AWS::ECS::TaskDefinition'));
  assert.match(tasks, new RegExp(`"Name":"PUSH_TARGETS","Value":"${WORKER} ${OTHER}"`));
});

const RIGHTS_TO_INVOKE = 'lambda:InvokeFunction';

test('wake reads the stream and the states of consumers, and starts push; so does the sweep', () => {
  const [logs, entities, starts, stream, streams, ...others] = rightsOf(on, 'PushWakeRole');
  assert.deepEqual(others, []);
  assert.match(logs?.[0] ?? '', /^logs:/);
  assert.equal(entities?.[0], 'GetItem Query UpdateItem');
  assert.match(entities?.[1] ?? '', /TablesEntities/);
  assert.deepEqual(
    [starts?.[0], /PushWorker\w+"/.test(starts?.[1] ?? '')],
    [RIGHTS_TO_INVOKE, true],
  );
  assert.equal(stream?.[0], 'DescribeStream GetRecords GetShardIterator');
  assert.match(stream?.[1] ?? '', /TablesMessages\w+","StreamArn"/);
  // IAM knows no resource for it.
  assert.deepEqual(streams, ['ListStreams', '"*"']);
  const sweep = rightsOf(on, 'SweepRole').at(-1);
  assert.deepEqual([sweep?.[0], sweep?.[1]], [RIGHTS_TO_INVOKE, starts?.[1]]);
});

test('push invokes itself and the targets of the stage with their versions, and nothing else', () => {
  const invoked = (template: Template) => rightsOf(template, 'PushInvocations');
  assert.match(invoked(on)[0]?.[1] ?? '', /^\{"Fn::GetAtt":\["PushWorker\w+","Arn"\]\}$/);
  const [[action, resources = ''] = []] = invoked(withTargets);
  assert.equal(action, RIGHTS_TO_INVOKE);
  const [itself, ...targets] = JSON.parse(resources);
  assert.match(JSON.stringify(itself), /PushWorker/);
  assert.deepEqual(targets, [WORKER, `${WORKER}:*`, OTHER, `${OTHER}:*`]);
  const own = rightsOf(on, 'PushWorkerRole').map(([actions]) => actions);
  assert.ok(
    !own.includes(RIGHTS_TO_INVOKE),
    'the function would wait for a policy with its own ARN',
  );
});

test('only processes that wait by the stream may read it beside Lambda', () => {
  const streamed = (stage: object) =>
    rightsOf(synthesize({ amqp: AMQP, ...stage }), 'AmqpTask').filter(([actions]) =>
      /Shard/.test(actions),
    ).length;
  assert.equal(streamed({ push: true }), 0);
  assert.equal(streamed({ push: true, streamWakeUps: true }), 1);
});

test('alarms: faults of both functions, and items of the stream that come late', () => {
  const logs = JSON.stringify(on.findResources('AWS::Logs::MetricFilter'));
  assert.match(logs, /PushWakeLogs/);
  assert.match(logs, /PushWorkerLogs/);
  const swept = { Invocations: [5, 5, 5] };
  assert.deepEqual(ringing(on, { ...swept, IteratorAge: [600_000] }), ['AlarmsLateWakes']);
  assert.deepEqual(ringing(on, { ...swept, IteratorAge: [599_999, undefined] }), []);
  assert.equal(alarmsOf(on).size, alarmsOf(off).size + 1);
  const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  assert.match(runbook, /^##+ .*\bLateWakes\b/m);
});

test('a broker in the stack of others says by which role it calls functions', () => {
  const { bus, stack } = shop({ push: { targets: [WORKER] } });
  assert.match(JSON.stringify(stack.resolve(bus.pushRoleArn)), /BusPushWorkerRole/);
  // A circle of dependencies would throw here.
  Template.fromStack(stack);
});
