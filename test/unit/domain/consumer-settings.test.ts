import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logOf } from '../../../shared/domain/blocks/log.ts';
import type { Consumer } from '../../../shared/domain/consumers/consumer.ts';
import { consumerKey, parseConsumerKey } from '../../../shared/domain/consumers/consumer-key.ts';
import {
  type ConsumerInput,
  consumerSettings,
} from '../../../shared/domain/consumers/consumer-settings.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { SUB_QUEUES } from '../../../shared/domain/entities/entity-path.ts';

const TARGET = 'http://localhost:3000';
const MINUTE = 60_000;

test('a consumer has defaults for all but its target', () => {
  assert.deepEqual(consumerSettings({ target: TARGET }), {
    target: TARGET,
    maxBatch: 10,
    batchWindowMs: 0,
    maxConcurrency: 10,
    timeoutMs: MINUTE,
    enabled: true,
  });
});

test('each setting of a consumer has bounds, which belong to its range', () => {
  const ranges: readonly [keyof ConsumerInput, number, number][] = [
    ['maxBatch', 1, 1000],
    ['batchWindowMs', 0, 5 * MINUTE],
    ['maxConcurrency', 1, 1000],
    ['maxPerSecond', 1, 100_000],
    ['timeoutMs', 1000, 10 * MINUTE],
  ];
  for (const [name, min, max] of ranges) {
    for (const value of [min, max]) {
      assert.equal(consumerSettings({ target: TARGET, [name]: value })[name], value);
    }
    const setting = name.replace(/Ms$/, '');
    for (const value of [min - 1, max + 1, min + 0.5, Number.NaN, Infinity]) {
      assert.throws(
        () => consumerSettings({ target: TARGET, [name]: value }),
        { code: 'ArgumentError', message: new RegExp(`'${setting}' property is`) },
        `${name} ${value}`,
      );
    }
  }
});

test('the key of a consumer has its sub-queue and its name in lower case', () => {
  for (const subQueue of SUB_QUEUES) {
    const key = consumerKey({ subQueue, name: 'My.Name-1' });
    assert.equal(key, `${subQueue}/my.name-1`);
    assert.deepEqual(parseConsumerKey(key), { subQueue, name: 'my.name-1' });
  }
  for (const text of ['', 'main', 'main/', '/name', 'other/name', 'deadletter/name']) {
    assert.equal(parseConsumerKey(text), undefined, text);
  }
});

function entityWith(...consumers: readonly Pick<Consumer, 'subQueue' | 'enabled'>[]): Entity {
  const others = { id: 'i', version: 1, createdAt: 0, updatedAt: 0 };
  const all = consumers.map((one, i) => {
    const name = `c${i}`;
    const consumer = { ...consumerSettings({ target: TARGET }), ...others, name, ...one };
    return [consumerKey(consumer), consumer] as const;
  });
  return {
    id: 'e',
    key: 'q',
    name: 'q',
    epoch: 1,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: 0,
    updatedAt: 0,
    description: QUEUE_DEFAULTS,
    consumers: Object.fromEntries(all),
  };
}

test('a log is consumed if one of the consumers of its sub-queue is enabled', () => {
  const consumed = (entity: Entity) =>
    SUB_QUEUES.filter((subQueue) => logOf(entity, subQueue, 0).isConsumed);
  assert.deepEqual(consumed(entityWith()), []);
  assert.deepEqual(consumed(entityWith({ subQueue: 'main', enabled: false })), []);
  const both = entityWith(
    { subQueue: 'deadLetter', enabled: false },
    { subQueue: 'deadLetter', enabled: true },
  );
  assert.deepEqual(consumed(both), ['deadLetter']);
  const { consumers: _, ...plain } = entityWith();
  assert.deepEqual(consumed(plain), []);
  assert.equal('isConsumed' in logOf(plain, 'main', 0), false);
});
