import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readStageSettings } from '../../cdk/settings.ts';
import { AMQP, settingsOf } from './synthesize.ts';

const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));

test('every stage in cdk.json has good settings', () => {
  for (const stage of Object.keys(context.stages)) {
    const settings = readStageSettings((name) => ({ ...context, stage })[name]);
    assert.equal(settings.namespace, `dynabus-${stage}`);
  }
});

test('a stage that is not there is refused by name, with those that are', () => {
  assert.throws(
    () => readStageSettings((name) => ({ ...context, stage: 'staging' })[name]),
    /No stage 'staging' in cdk\.json; there are: dev, prod/,
  );
});

test('a wrong setting is refused with its name', () => {
  const wrong: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ logRetentionDays: 8 }, /logRetentionDays/],
    [{ receiveWaitMsMax: 29_000 }, /receiveWaitMsMax/],
    [{ sweepMinutes: 0 }, /sweepMinutes/],
    [{ memoryMb: { send: 64 } }, /memoryMb\.send/],
    [{ reservedConcurrency: { sender: 1 } }, /reservedConcurrency/],
    [{ throttle: { rate: -1 } }, /throttle\.rate/],
    [{ namespace: 'a b' }, /namespace/],
    [{ keepDate: true }, /keepDate/],
    [{ access: 'aws' }, /access/],
    [{ tier: 'basic' }, /tier/],
    [{ amqp: {} }, /amqp\.certificateArn[\s\S]*amqp\.domainName/],
    [{ amqp: { ...AMQP, certificateArn: 'arn:aws:iam::1:x' } }, /certificate in ACM/],
    [{ amqp: { ...AMQP, domainName: 'sb://bus.example.com' } }, /amqp\.domainName/],
    [{ amqp: { ...AMQP, vpcId: 'default' } }, /amqp\.vpcId/],
    [{ amqp: { ...AMQP, minTasks: 0 } }, /amqp\.minTasks/],
    [{ amqp: { ...AMQP, minTasks: 5, maxTasks: 4 } }, /fewer than minTasks/],
    [{ amqp: { ...AMQP, cpu: 300 } }, /amqp\.cpu/],
    [{ amqp: { ...AMQP, cpu: 1024 } }, /not a size that Fargate has/],
    [{ amqp: { ...AMQP, memoryMb: 768 } }, /not a size that Fargate has/],
    [{ amqp: { ...AMQP, enabled: true } }, /enabled/],
    [
      { amqp: { ...AMQP, limits: { requestsPerAddress: { rate: 0 } } } },
      /requestsPerAddress\.rate/,
    ],
    [{ amqp: { ...AMQP, limits: { requests: 1 } } }, /requests/],
    [{ accessLogs: 'yes' }, /accessLogs/],
  ];
  for (const [stage, message] of wrong) assert.throws(() => settingsOf(stage), message);
});

test('tokens say what a caller may do, unless the stage or the command line says that IAM does', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings((name) => ({ stage: 'test', stages: { test: stage }, ...given })[name])
      .access;
  assert.equal(read({}), 'sas');
  assert.equal(read({}, { access: 'iam' }), 'iam');
  assert.equal(read({ access: 'iam' }), 'iam');
  assert.equal(read({ access: 'sas' }, { access: 'iam' }), 'sas');
});

test('the tier is Standard, unless the stage or the command line says another', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings((name) => ({ stage: 'test', stages: { test: stage }, ...given })[name]).tier;
  assert.equal(read({}), 'Standard');
  assert.equal(read({}, { tier: 'Premium' }), 'Premium');
  assert.equal(read({ tier: 'Basic' }, { tier: 'Premium' }), 'Basic');
});

test('a gateway for AMQP needs keys, so there is none beside IAM', () => {
  assert.throws(
    () => settingsOf({ access: 'iam', amqp: AMQP }),
    /with access iam there are none[\s\S]*amqp/,
  );
});

test('the gateway is off, unless the stage or the command line turns it on', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings((name) => ({ stage: 'test', stages: { test: stage }, ...given })[name]).amqp;
  assert.equal(read({}), undefined);
  const on = {
    ...AMQP,
    minTasks: 1,
    maxTasks: 4,
    connectionsPerTask: 1000,
    cpu: 256,
    memoryMb: 512,
    limits: {
      newConnectionsPerAddress: { rate: 100, burst: 2000 },
      requestsPerAddress: { rate: 1000, burst: 2000 },
      operationsPerRule: { rate: 1000, burst: 2000 },
    },
  };
  assert.deepEqual(read({}, { amqp: AMQP }), on);
  assert.deepEqual(read({ amqp: JSON.stringify(AMQP) }), on);
});
