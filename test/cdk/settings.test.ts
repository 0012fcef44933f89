import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readStageSettings } from '../../cdk/settings.ts';
import { AMQP } from './synthesize.ts';

const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));

test('every stage in cdk.json has good settings', () => {
  for (const stage of Object.keys(context.stages)) {
    const settings = readStageSettings({ ...context, stage });
    assert.equal(settings.namespace, `dynabus-${stage}`);
  }
});

test('tokens say what a caller may do, unless the stage or the command line says that IAM does', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings({ stage: 'test', stages: { test: stage }, ...given }).access;
  assert.equal(read({}), 'sas');
  assert.equal(read({}, { access: 'iam' }), 'iam');
  assert.equal(read({ access: 'iam' }), 'iam');
  assert.equal(read({ access: 'sas' }, { access: 'iam' }), 'sas');
});

test('the tier is Standard, unless the stage or the command line says another', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings({ stage: 'test', stages: { test: stage }, ...given }).tier;
  assert.equal(read({}), 'Standard');
  assert.equal(read({}, { tier: 'Premium' }), 'Premium');
  assert.equal(read({ tier: 'Basic' }, { tier: 'Premium' }), 'Basic');
});

test('API Gateway takes requests, unless the stage or the command line says that a function URL does', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings({ stage: 'test', stages: { test: stage }, ...given }).endpoint;
  assert.equal(read({}), 'apiGateway');
  assert.equal(read({}, { endpoint: 'functionUrl' }), 'functionUrl');
  assert.equal(read({ endpoint: 'functionUrl' }), 'functionUrl');
  const log = { endpoint: 'functionUrl', accessLogs: true, throttle: { rate: 9 } };
  assert.equal(read({ endpoint: 'apiGateway' }, log), 'apiGateway');
});

test('a function URL beside the AMQP gateway leaves that its throttle and its access log', () => {
  const stage = { endpoint: 'functionUrl', accessLogs: true, throttle: { rate: 9 }, amqp: AMQP };
  const settings = readStageSettings({ stage: 'test', stages: { test: stage } });
  assert.equal(settings.throttle.rate, 9);
  assert.equal(settings.accessLogs, true);
});

test('what says the default is no mistake: a function URL without an access log', () => {
  const stage = {
    endpoint: 'functionUrl',
    accessLogs: false,
    memoryMb: { manage: 512, sweep: 512 },
  };
  assert.equal(readStageSettings({ stage: 'test', stages: { test: stage } }).memoryMb.manage, 512);
});

test('the gateway is off, unless the stage or the command line turns it on', () => {
  const read = (given: Readonly<Record<string, unknown>>, stage: object = {}) =>
    readStageSettings({ stage: 'test', stages: { test: stage }, ...given }).amqp;
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
