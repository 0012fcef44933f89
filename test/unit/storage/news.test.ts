import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { slotName, slotValue } from '../../../shared/storage/blocks/block-item.ts';
import {
  blockSortKey,
  dueSortKey,
  logKey,
  logName,
  readyCollection,
  readySortKey,
  sessionPrefix,
} from '../../../shared/storage/schema/message-keys.ts';
import { newsOf } from '../../../shared/storage/streams/news.ts';
import type { StreamRecord } from '../../../shared/storage/streams/stream-calls.ts';

const MAIN: Log = {
  entityId: 'a-B_9.x',
  headerEntityId: 'a-B_9.x',
  entityKey: 'q',
  partition: 12,
  subQueue: 'main',
  generation: 3,
};
const SESSION: Log = { ...MAIN, sessionId: 'a/b~r' };
const BLOCK = blockSortKey('live', 7n);

/** A record of a block; `held` = the ends of the locks of its messages, epoch ms, 0 = none. */
function block(
  kind: StreamRecord['kind'],
  held: readonly number[],
  { log = MAIN, sortKey = BLOCK }: { readonly log?: Log; readonly sortKey?: string } = {},
): StreamRecord {
  const slots = held.map((until, i): [string, ReturnType<typeof slotValue>] => [
    slotName(i),
    slotValue({ deliveries: 0, ...(until === 0 ? {} : { heldUntil: until }) }),
  ]);
  return {
    kind,
    pk: logKey(log),
    sk: sessionPrefix(log) + sortKey,
    image: kind === 'REMOVE' ? undefined : { s: { M: Object.fromEntries(slots) } },
  };
}

test('a new block tells of its log and of its messages', () => {
  const { blocks, ...others } = newsOf([block('INSERT', [0, 0, 0])]);
  assert.deepEqual(blocks, [
    { log: logName(MAIN), sortKey: BLOCK, isNew: true, messages: 3, freeAt: 0 },
  ]);
  assert.deepEqual(
    Object.values(others).map(({ size }) => size),
    [0, 0, 0],
  );
});

for (const subQueue of ['deadLetter', 'transferDeadLetter'] as const) {
  test(`a new block in ${subQueue} tells of that log`, () => {
    const log = { ...MAIN, subQueue };
    assert.equal(newsOf([block('INSERT', [0], { log })]).blocks[0]?.log, logName(log));
  });
}

test('a new block of a session tells of that session', () => {
  const sortKey = blockSortKey('returned', 7n);
  const [news] = newsOf([block('INSERT', [0], { log: SESSION, sortKey })]).blocks;
  assert.equal(news?.log, logName(SESSION));
  assert.equal(news?.sortKey, sortKey);
});

test('a changed block tells when the first of its messages is available', () => {
  const freeAt = (...held: number[]) => newsOf([block('MODIFY', held)]).blocks[0]?.freeAt;
  assert.equal(freeAt(5000, 4000), 4000);
  assert.equal(freeAt(5000, 0), 0);
});

test('of several records of a block the last one counts', () => {
  const locked = newsOf([block('INSERT', [0]), block('MODIFY', [9000])]);
  assert.deepEqual(
    locked.blocks.map(({ freeAt, isNew }) => [freeAt, isNew]),
    [[9000, false]],
  );
  assert.deepEqual(newsOf([block('INSERT', [0]), block('REMOVE', [])]).blocks, []);
});

test('a stream of keys tells of new blocks, and not of changed ones', () => {
  const withoutImage = (kind: StreamRecord['kind']) => ({ ...block(kind, [0]), image: undefined });
  assert.equal(newsOf([withoutImage('INSERT')]).blocks[0]?.messages, 1);
  assert.equal(newsOf([withoutImage('MODIFY')]).blocks.length, 0);
  assert.equal(newsOf([withoutImage('INSERT'), withoutImage('MODIFY')]).blocks.length, 1);
});

test('deferred and scheduled blocks, payloads, headers and records of duplicates wake nobody', () => {
  const others: readonly [string, string][] = [
    [logKey(MAIN), blockSortKey('deferred', 7n)],
    [logKey(MAIN), blockSortKey('scheduled', 7n)],
    [logKey(SESSION), sessionPrefix(SESSION) + blockSortKey('deferred', 7n)],
    [logKey(MAIN), 'v0000000000aaname.g'],
    [`${MAIN.entityId}.12p`, 'b0000.0'],
    [`${MAIN.entityId}.12k`, '/b/'],
    [`${MAIN.entityId}.12`, 'head'],
    [`${MAIN.entityId}.xm1`, 'x'],
  ];
  const news = newsOf(others.map(([pk, sk]) => ({ kind: 'INSERT', pk, sk })));
  assert.deepEqual(news.blocks, []);
  assert.deepEqual([news.sessions.size, news.due.size, news.gone.size], [0, 0, 0]);
});

test('entries of the ready-session index tell when sessions may be ready, the earliest of each log', () => {
  const entry = (kind: StreamRecord['kind'], instant: number): StreamRecord => ({
    kind,
    pk: readyCollection(SESSION),
    sk: readySortKey(instant, SESSION, ''),
  });
  const { sessions } = newsOf([entry('INSERT', 9000), entry('MODIFY', 8000), entry('REMOVE', 1)]);
  assert.deepEqual([...sessions], [[logName(MAIN), 8000]]);
});

test('due times tell when scheduled messages come due', () => {
  const entry = (kind: StreamRecord['kind'], dueAt: number): StreamRecord => ({
    kind,
    pk: logKey(MAIN),
    sk: dueSortKey(dueAt, 7n),
  });
  const { due } = newsOf([entry('INSERT', 9000), entry('INSERT', 8000), entry('REMOVE', 1)]);
  assert.deepEqual([...due], [[logKey(MAIN), 8000]]);
});

test('a header that is gone tells of its partition', () => {
  const header = { pk: `${MAIN.entityId}.12`, sk: 'head' };
  assert.deepEqual([...newsOf([{ kind: 'REMOVE', ...header }]).gone], [header.pk]);
  assert.equal(newsOf([{ kind: 'MODIFY', ...header }]).gone.size, 0);
});
