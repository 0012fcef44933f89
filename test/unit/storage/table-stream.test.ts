import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYED_PACE } from '../../../shared/storage/streams/shard-reader.ts';
import { TableStream } from '../../../shared/storage/streams/table-stream.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';
import { ScriptedStream, streamError } from '../../support/scripted-stream.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
/** A record is told by the next read of its shard. */
const READ_MS = DEPLOYED_PACE.idleMs;

function start(...shards: readonly string[]) {
  const calls = new ScriptedStream(...shards);
  const scheduler = new ManualScheduler();
  const reported: unknown[] = [];
  const stream = new TableStream({
    calls,
    scheduler,
    pace: DEPLOYED_PACE,
    report: (error) => reported.push(error),
  });
  const heard: string[] = [];
  const state = { lapses: 0 };
  const attend = () =>
    stream.attend({
      hear: ({ blocks }) => heard.push(...blocks.map(({ log }) => log)),
      lapsed: () => {
        state.lapses++;
      },
    });
  /** Attends, and lets the reading begin. */
  const begin = async () => {
    const leave = attend();
    await scheduler.pass(READ_MS);
    return leave;
  };
  return { calls, scheduler, stream, heard, state, reported, attend, begin };
}

test('records of all shards that are written from now on are told, none before', async () => {
  const { calls, scheduler, stream, heard, begin } = start('s1', 's2');
  calls.write('s1', 'e.0m0');
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
  await begin();
  assert.equal(stream.coveredSince, 0);
  calls.write('s1', 'e.0m1');
  calls.write('s2', 'e.0m2');
  await scheduler.pass(READ_MS);
  assert.deepEqual(heard, ['e.0m1', 'e.0m2']);
});

test('each shard is read four times a second while somebody listens, and not at all when nobody does', async () => {
  const { calls, scheduler, stream, heard, begin } = start('s1', 's2');
  assert.equal(calls.requests.length, 0);
  const leave = await begin();
  calls.take('read');
  await scheduler.pass(MINUTE_MS);
  assert.equal(calls.take('read'), 2 * 4 * 60);
  leave();
  await scheduler.pass(MINUTE_MS);
  // Receives often wait again at once, so it is read on for ten seconds.
  assert.equal(calls.take('read'), 2 * 4 * 10);
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
  calls.write('s1', 'e.0m0');
  await scheduler.pass(MINUTE_MS);
  await begin();
  // What was written while nobody listened is for the first look of those that listen now.
  assert.equal(stream.coveredSince, scheduler.now() - READ_MS);
  calls.write('s1', 'e.0m1');
  await scheduler.pass(READ_MS);
  assert.deepEqual(heard, ['e.0m1']);
});

test('a listener that comes back soon finds the stream read without a break', async () => {
  const { calls, scheduler, stream, begin, attend } = start('s1');
  const leave = await begin();
  leave();
  await scheduler.pass(9 * SECOND_MS);
  calls.take('');
  attend();
  await scheduler.pass(20 * SECOND_MS);
  assert.equal(stream.coveredSince, 0);
  assert.equal(calls.requests.filter((request) => !request.startsWith('read')).length, 0);
});

test('a shard that is closed is read to its end, and its children from their beginning', async () => {
  const { calls, scheduler, stream, heard, state, begin } = start('s1');
  await begin();
  calls.write('s1', 'e.0m1');
  calls.closeShard('s1');
  for (const child of ['s2', 's3']) calls.addShard(child, 's1');
  calls.write('s2', 'e.0m2');
  calls.write('s3', 'e.0m3');
  calls.closeShard('s3');
  calls.addShard('s4', 's3');
  calls.write('s4', 'e.0m4');
  await scheduler.pass(3 * SECOND_MS);
  assert.deepEqual(heard.sort(), ['e.0m1', 'e.0m2', 'e.0m3', 'e.0m4']);
  assert.equal(stream.coveredSince, 0);
  assert.equal(state.lapses, 0);
});

test('while the children of a closed shard are not listed, the stream is late; then nothing is lost', async () => {
  const { calls, scheduler, stream, heard, state, begin } = start('s1');
  await begin();
  calls.closeShard('s1');
  await scheduler.pass(5 * SECOND_MS);
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
  assert.equal(state.lapses, 1);
  calls.addShard('s2', 's1');
  calls.write('s2', 'e.0m2');
  await scheduler.pass(10 * SECOND_MS);
  assert.deepEqual(heard, ['e.0m2']);
  assert.equal(stream.coveredSince, 0);
});

test('a stream that ends without children is looked for anew, ever more seldom', async () => {
  const { calls, scheduler, stream, begin } = start('s1');
  await begin();
  calls.closeShard('s1');
  await scheduler.pass(MINUTE_MS);
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
  calls.addShard('s2');
  await scheduler.pass(MINUTE_MS);
  assert.ok(stream.coveredSince > 0 && stream.coveredSince < scheduler.now());
});

test('a shard that no other has as its child is found by the next list', async () => {
  const { calls, scheduler, stream, heard, state, begin } = start('s1');
  await begin();
  calls.addShard('s2');
  await scheduler.pass(11 * MINUTE_MS);
  assert.equal(state.lapses, 1);
  assert.ok(stream.coveredSince > 9 * MINUTE_MS);
  calls.write('s2', 'e.0m2');
  await scheduler.pass(READ_MS);
  assert.deepEqual(heard, ['e.0m2']);
});

for (const name of ['ExpiredIteratorException', 'TrimmedDataAccessException']) {
  test(`after ${name} the stream is read from now on, and all look once`, async () => {
    const { calls, scheduler, stream, heard, state, begin } = start('s1', 's2');
    await begin();
    calls.onRequest = (request) => {
      if (request.startsWith('read s1')) throw streamError(name);
    };
    calls.write('s1', 'e.0m1');
    await scheduler.pass(READ_MS);
    calls.onRequest = () => {};
    assert.equal(state.lapses, 1);
    assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
    await scheduler.pass(2 * SECOND_MS);
    assert.ok(stream.coveredSince > READ_MS);
    calls.write('s1', 'e.0m2');
    await scheduler.pass(READ_MS);
    assert.deepEqual(heard, ['e.0m2']);
  });
}

for (const [name, status] of [
  ['LimitExceededException', 400],
  ['ProvisionedThroughputExceededException', 400],
  ['InternalServerError', 500],
  ['TimeoutError', 0],
] as const) {
  test(`after ${name} the same shard is read on, after ever longer pauses; nothing is lost`, async () => {
    const { calls, scheduler, stream, heard, state, begin } = start('s1');
    await begin();
    calls.onRequest = () => {
      throw streamError(name, status);
    };
    calls.write('s1', 'e.0m1');
    calls.take('read');
    await scheduler.pass(MINUTE_MS);
    assert.ok(calls.take('read') <= 8);
    // Receivers are told once that they have to look themselves.
    assert.equal(state.lapses, 1);
    assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
    calls.onRequest = () => {};
    await scheduler.pass(MINUTE_MS);
    assert.deepEqual(heard, ['e.0m1']);
    assert.equal(stream.coveredSince, 0);
  });
}

test('a read that hangs makes the stream late', async () => {
  const { calls, scheduler, stream, state, begin } = start('s1', 's2');
  await begin();
  calls.onRequest = (request) =>
    request.startsWith('read s1') ? new Promise(() => {}) : undefined;
  await scheduler.pass(3 * SECOND_MS);
  assert.equal(state.lapses, 0);
  await scheduler.pass(2 * SECOND_MS);
  assert.equal(state.lapses, 1);
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
});

test('a reader that cannot keep up is late, although no read fails', async () => {
  const { calls, scheduler, stream, begin } = start('s1');
  await begin();
  calls.recordsPerPage = 1;
  for (let i = 0; i < 100; i++) calls.write('s1', 'e.0m1');
  await scheduler.pass(4 * SECOND_MS);
  assert.equal(stream.coveredSince, Number.POSITIVE_INFINITY);
  await scheduler.pass(20 * SECOND_MS);
  assert.equal(stream.coveredSince, 0);
});

test('without the right to read it, the stream is tried every five minutes, and the error is reported once', async () => {
  const { calls, scheduler, reported, begin } = start('s1');
  calls.onRequest = () => {
    throw streamError('AccessDeniedException');
  };
  await begin();
  await scheduler.pass(30 * MINUTE_MS);
  assert.equal(calls.take('find'), 7);
  assert.equal(reported.length, 1);
});

test('a table without a stream, and an engine without streams, are looked at every five minutes, silently', async () => {
  for (const has of ['no stream', 'no streams']) {
    const { calls, scheduler, reported, stream, begin } = start('s1');
    if (has === 'no stream') calls.name = undefined;
    else {
      calls.onRequest = (request) => {
        if (request !== 'find') throw streamError('UnknownOperationException');
      };
    }
    await begin();
    await scheduler.pass(10 * MINUTE_MS);
    assert.equal(calls.take('find'), 3);
    assert.deepEqual(reported, []);
    calls.name = 'stream';
    calls.onRequest = () => {};
    await scheduler.pass(5 * MINUTE_MS);
    assert.notEqual(stream.coveredSince, Number.POSITIVE_INFINITY);
  }
});

test('a table with more shards than are paid for is not read, which is reported', async () => {
  const ids = Array.from({ length: 101 }, (_, i) => `s${i}`);
  const { calls, reported, begin } = start(...ids);
  await begin();
  assert.equal(calls.take('read'), 0);
  assert.match(String(reported[0]), /101 open shards/);
});

test('closing during a request ends all: its answer is told to nobody', async () => {
  for (const kind of ['find', 'shards', 'iterator', 'read']) {
    const { calls, scheduler, stream, heard, state, attend } = start('s1');
    let answer = () => {};
    calls.onRequest = (request) =>
      request.startsWith(kind)
        ? new Promise((resolve) => {
            answer = resolve;
          })
        : undefined;
    attend();
    await scheduler.pass(READ_MS);
    calls.write('s1', 'e.0m1');
    stream.close();
    answer();
    calls.take('');
    await scheduler.pass(MINUTE_MS);
    attend();
    await scheduler.pass(MINUTE_MS);
    assert.deepEqual([kind, heard, state.lapses, calls.requests], [kind, [], 0, []]);
  }
});
