import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readStageSettings } from '../../cdk/settings.ts';
import { settingsOf } from './synthesize.ts';

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
