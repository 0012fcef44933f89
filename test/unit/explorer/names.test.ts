import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PathError, partPathOf } from '../../../client/entity-path.ts';
import { readDestination } from '../../../explorer/send/destination.ts';
import { ListedQueue } from './listed-queue.ts';

/** Paths and names that a person writes, and that become a part of an address. */

for (const to of ['innocent/../orders', './orders', '..', 'orders/.', 'a//b', '']) {
  test(`nothing is sent to '${to}', whose address would be that of something else`, async () => {
    const queue = new ListedQueue([]);
    await assert.rejects(readDestination(queue, to), PathError);
    assert.equal(queue.calls.length, 0);
  });
}

for (const name of ['', '.', '..', 'x/..', '../../other', 'a/b']) {
  test(`'${name}' is no name of a rule`, () => {
    assert.throws(() => partPathOf('t/Subscriptions/s/Rules', name), PathError);
  });
}

test('a name with dots, and that of the first rule, is one segment of a path', () => {
  assert.equal(partPathOf('t/Subscriptions/s/Rules', 'v1..2'), 't/Subscriptions/s/Rules/v1..2');
  assert.equal(partPathOf('r', '$Default'), 'r/$Default');
});
