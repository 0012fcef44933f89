import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FUNCTION_NAMES } from '../../../cdk/functions.ts';
import { startFunction } from '../../../lambdas/http/start-function.ts';
import { faultEntry } from '../../../shared/app/report-fault.ts';
import { linesOf, requireTimeAndLevel } from '../../support/log-lines.ts';

test('a logged fault has the time of its report, a level, the tracking id and all causes', () => {
  const error = new AggregateError([new Error('one part')], 'The sweep failed in part.', {
    cause: 'a cause that is no error',
  });
  const { fault, ...entry } = faultEntry(error, 1_700_000_000_123, 'id');
  assert.deepEqual(entry, {
    time: '2023-11-14T22:13:20.123Z',
    level: 'error',
    trackingId: 'id',
  });
  assert.match(fault, /^AggregateError: The sweep failed in part\.\n {4}at /);
  assert.match(fault, /\nbecause of Error: one part\n {4}at /);
  assert.match(fault, /\ncaused by a cause that is no error$/);
});

test('a request with a fault writes one line to stderr; a refused one writes none', async () => {
  const { stderr, stdout } = await linesOf('test/support/write-log-lines.ts');
  const answered = stdout.find(({ message }) => message === 'Answered');
  assert.deepEqual(
    ['/busy', '/timeout', '/fault'].map((path) => answered?.[path]),
    [503, 504, 500],
  );
  const [line, ...others] = stderr;
  assert.deepEqual(others, []);
  requireTimeAndLevel(line ?? {}, 'error');
  assert.match(
    String(line?.['fault']),
    /^TypeError: planted\n {4}at [\s\S]+\ncaused by Error: the cause\n/,
  );
  assert.match(String(line?.['trackingId']), /^[\da-f-]{36}$/);
});

test('every other log line of a gateway has a time and a level, too', async () => {
  const { stdout } = await linesOf('test/support/write-log-lines.ts');
  assert.equal(stdout.length, 5);
  for (const line of stdout) requireTimeAndLevel(line, 'info');
});

for (const name of FUNCTION_NAMES) {
  test(`the function ${name} logs in one line why it cannot start`, async () => {
    const { code, stderr, stdout } = await linesOf(`lambdas/${name}/handler.ts`);
    assert.notEqual(code, 0);
    assert.deepEqual(stdout, []);
    const [line] = stderr;
    requireTimeAndLevel(line ?? {}, 'error');
    assert.match(String(line?.['fault']), /^Error: The variable \w+ is not set\./);
  });
}

test('a task of the gateway logs in one line why it cannot start, and nothing else', async () => {
  for (const [env, reason] of [
    [{}, /^Error: The variable NAMESPACE is not set\./],
    [{ NAMESPACE: 'n', TIER: 'Gold' }, /^Error: The variable TIER has an unknown value: Gold/],
  ] as const) {
    const { code, stderr, stdout } = await linesOf('gateway/main.ts', { env });
    assert.equal(code, 1);
    assert.deepEqual(stdout, []);
    assert.equal(stderr.length, 1, JSON.stringify(stderr));
    requireTimeAndLevel(stderr[0] ?? {}, 'error');
    assert.match(String(stderr[0]?.['fault']), reason);
  }
});

test('an error of a handler is reported once and rethrown, so that Lambda counts it; results pass through', async () => {
  const faults: unknown[] = [];
  const report = (error: unknown) => void faults.push(error);
  const error = new Error('The sweep failed in part.');
  const handler = startFunction(
    () => async (event: 'good' | 'bad') => {
      if (event === 'bad') throw error;
      return event;
    },
    report,
  );
  assert.equal(await handler('good'), 'good');
  assert.deepEqual(faults, []);
  await assert.rejects(handler('bad'), error);
  assert.deepEqual(faults, [error]);
});
