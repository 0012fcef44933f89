import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamespaceDescription } from '../../../local/config/description.ts';
import { parseConfig, parseDescription } from '../../../local/config/parse.ts';
import type { NamespaceConfig } from '../../../shared/config/namespace-config.ts';
import { faultsOf } from './faults-of.ts';

/** Consumers in both forms of configurations. */

const TARGET = 'http://127.0.0.1:3000/';

const inFile = (Queues: unknown, Topics: unknown = []) => ({
  UserConfig: { Namespaces: [{ Queues, Topics }] },
});
const consumersOf = ({ entities }: NamespaceConfig) =>
  entities.map(({ name, consumers }) => ({
    path: name,
    consumers: consumers?.map(({ at: _, ...one }) => one),
  }));

test('lists, records and the file of the emulator say the same of consumers', () => {
  const asLists = {
    queues: [
      {
        name: 'q',
        consumers: [
          { name: 'a', target: TARGET, timeout: { seconds: 30 }, enabled: false },
          { name: 'b', subQueue: 'deadLetter', target: TARGET, maxPerSecond: 5 },
        ],
      },
      'none',
      { name: 'empty', consumers: [] },
    ],
    topics: [
      { name: 't', subscriptions: [{ name: 's', consumers: [{ name: 'c', target: TARGET }] }] },
    ],
  } satisfies NamespaceDescription;
  const asRecords = {
    queues: {
      q: {
        consumers: {
          a: { target: TARGET, timeout: 'PT30S', enabled: false },
          b: { name: 'b', subQueue: 'deadLetter', target: TARGET, maxPerSecond: 5 },
        },
      },
      none: {},
      empty: { consumers: {} },
    },
    topics: { t: { subscriptions: { s: { consumers: { c: TARGET } } } } },
  };
  const file = inFile(
    [
      {
        Name: 'q',
        Consumers: [
          { Name: 'a', Properties: { Target: TARGET, Timeout: 'PT30S', Enabled: false } },
          { Name: 'b', SubQueue: 'DeadLetter', Properties: { Target: TARGET, MaxPerSecond: 5 } },
        ],
      },
      { Name: 'none' },
      { Name: 'empty', Consumers: [] },
    ],
    [
      {
        Name: 't',
        Subscriptions: [{ Name: 's', Consumers: [{ Name: 'c', Properties: { Target: TARGET } }] }],
      },
    ],
  );
  const expected = consumersOf(parseDescription(asLists));
  assert.deepEqual(expected, [
    {
      path: 'q',
      consumers: [
        {
          name: 'a',
          subQueue: 'main',
          input: { target: TARGET, timeoutMs: 30_000, enabled: false },
        },
        { name: 'b', subQueue: 'deadLetter', input: { target: TARGET, maxPerSecond: 5 } },
      ],
    },
    { path: 'none', consumers: undefined },
    { path: 'empty', consumers: [] },
    { path: 't', consumers: undefined },
    {
      path: 't/Subscriptions/s',
      consumers: [{ name: 'c', subQueue: 'main', input: { target: TARGET } }],
    },
  ]);
  assert.deepEqual(consumersOf(parseDescription(asRecords)), expected);
  assert.deepEqual(consumersOf(parseConfig(file)), expected);
});

const PLACE = 'queues.q.consumers';
const short = (consumers: unknown, more: object = {}) =>
  faultsOf(() => parseDescription({ queues: { to: {}, q: { consumers, ...more } } }));

test('each fault of a consumer has its path', () => {
  assert.deepEqual(short('c'), [`${PLACE}: It must be a list, or an object by name, not "c".`]);
  assert.deepEqual(short([{ target: TARGET }, 5]), [
    `${PLACE}[0]: The name is missing: add it.`,
    `${PLACE}[1]: It must be an object with settings of a consumer, not 5.`,
  ]);
  assert.deepEqual(
    short({ c: { name: 'd', target: TARGET, subQueue: 'dead', maxBatch: 1001, timeOut: 1 } }),
    [
      `${PLACE}.c.timeOut: There is no such property: write timeout instead, or remove it.`,
      `${PLACE}.c.name: It must be "c", as its key, not "d".`,
      `${PLACE}.c.subQueue: It must be "main", "deadLetter" or "transferDeadLetter", not "dead".`,
      `${PLACE}.c.maxBatch: The value '1001' of the 'maxBatch' property is not a whole number from 1 to 1000.`,
    ],
  );
  assert.deepEqual(short({ c: {}, '-d': { target: 'https://localhost' } }), [
    `${PLACE}.c: The target is missing: add it.`,
    `${PLACE}["-d"]: The name '-d' is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), and must begin and end with a letter, number or underscore.`,
    `${PLACE}["-d"].target: The target begins with 'https:': an address must begin with 'http://'.`,
  ]);
  assert.deepEqual(short({ c: TARGET, C: TARGET }), [
    `${PLACE}.C: The name 'C' is that of ${PLACE}.c too, and case does not count: choose another.`,
  ]);
  const dead = { target: TARGET, subQueue: 'deadLetter' };
  assert.deepEqual(short({ c: TARGET, d: dead }, { forwardTo: 'to' }), [
    `${PLACE}.c: It would get no messages, because the entity forwards them: remove it.`,
  ]);
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`c${i}`, TARGET]));
  assert.deepEqual(short(many), [
    `${PLACE}: There are 11 consumers; an entity may have 10 with its dead-letter queues.`,
  ]);
});

test('topics have no consumers', () => {
  assert.deepEqual(
    faultsOf(() => parseDescription({ topics: { t: { consumers: {} } } })),
    ['topics.t.consumers: A topic has no consumers: give them to its subscriptions.'],
  );
});

test('each fault of a consumer in the file of the emulator has its path', () => {
  const faults = faultsOf(() =>
    parseConfig(
      inFile([
        {
          Name: 'q',
          Consumers: [
            { Name: 'a', Target: TARGET },
            { Name: 'b', SubQueue: 'deadLetter', Properties: { Target: TARGET, Maxbatch: 1 } },
            { Properties: { Target: TARGET } },
          ],
        },
      ]),
    ),
  );
  const at = 'UserConfig.Namespaces[0].Queues[0].Consumers';
  assert.deepEqual(faults, [
    `${at}[0].Target: There is no such property: remove it, or use one of Name, SubQueue and Properties.`,
    `${at}[1].Properties.Maxbatch: There is no such property: write MaxBatch instead, or remove it.`,
    `${at}[1].SubQueue: It must be "Main", "DeadLetter" or "TransferDeadLetter", not "deadLetter".`,
    `${at}[2]: The Name is missing: add it.`,
    `${at}[0]: The Target is missing: add it.`,
  ]);
});
