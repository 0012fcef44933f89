import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareCalls } from '../../../shared/broker/group-commit/share-calls.ts';
import { sharedRequests } from '../../../shared/storage/dynamodb/shared-requests.ts';
import {
  type Item,
  type ItemKey,
  keyItem,
  type Table,
} from '../../../shared/storage/dynamodb/table.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

/** A table that notes its requests; items whose sort key begins with "x" exist. */
function fakeTable() {
  const requests: string[] = [];
  const note = (what: string, keys: readonly string[]) => {
    requests.push(`${what} ${keys.join(' ')}`);
  };
  const failing = new Set<string>();
  const existing = (keys: readonly ItemKey[]) =>
    keys.filter(({ sk }) => sk.startsWith('x')).map((key): Item => keyItem(key));
  const table = {
    get: async (key: ItemKey) => {
      note('get', [key.sk]);
      return existing([key])[0];
    },
    getMany: async (keys: readonly ItemKey[]) => {
      note(
        'getMany',
        keys.map(({ sk }) => sk),
      );
      return existing(keys);
    },
    put: async ({ sk }: Item) => note('put', [sk?.S ?? '']),
    delete: async ({ sk }: ItemKey) => note('delete', [sk]),
    writeMany: async (items: readonly Item[], keys: readonly ItemKey[]) => {
      note('write', [...items.map(({ sk }) => `+${sk?.S}`), ...keys.map(({ sk }) => `-${sk}`)]);
      if (failing.has('write')) throw new Error('No capacity.');
    },
  };
  return { table: table as unknown as Table, requests, failing };
}

const key = (sk: string): ItemKey => ({ pk: 'p', sk });

test('reads that are made together are one request, which names each item once', async () => {
  const { table, requests } = fakeTable();
  const { get } = sharedRequests(table, new VirtualTime(), shareCalls);
  const items = await Promise.all(['x1', 'y', 'x1', 'x2'].map((sk) => get(key(sk))));
  assert.deepEqual(
    items.map((item) => item?.['sk']?.S),
    ['x1', undefined, 'x1', 'x2'],
  );
  assert.equal((await get(key('x3')))?.['sk']?.S, 'x3');
  assert.deepEqual(requests, ['getMany x1 y x2', 'get x3']);
});

test('a removal goes with the next write', async () => {
  const { table, requests } = fakeTable();
  const items = sharedRequests(table, new VirtualTime(), shareCalls);
  const removals = [items.delete(key('a')), items.delete(key('b')), items.delete(key('a'))];
  await items.putKey(key('c'));
  await Promise.all(removals);
  await items.putKey(key('d'));
  assert.deepEqual(requests, ['write +c -a -b', 'put d']);
});

test('removals without a write are one request, a moment later', async () => {
  const { table, requests } = fakeTable();
  const items = sharedRequests(table, new VirtualTime(), shareCalls);
  await Promise.all([items.delete(key('a')), items.delete(key('b'))]);
  await items.delete(key('c'));
  assert.deepEqual(requests, ['write -a -b', 'delete c']);
});

test('25 removals do not wait', async () => {
  const { table, requests } = fakeTable();
  const time = new VirtualTime();
  const items = sharedRequests(table, time, shareCalls);
  await Promise.all(Array.from({ length: 25 }, (_, i) => items.delete(key(`${i}`))));
  assert.equal(requests.length, 1);
  assert.equal(time.now(), 0);
});

test('all callers of a request that fails hear of it', async () => {
  const { table, failing } = fakeTable();
  failing.add('write');
  const items = sharedRequests(table, new VirtualTime(), shareCalls);
  const removal = items.delete(key('a'));
  await assert.rejects(items.putKey(key('b')), /No capacity/);
  await assert.rejects(removal, /No capacity/);
  failing.clear();
  await items.putKey(key('b'));
});
