import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnyConfig, parseDescription } from '../../../local/config/parse.ts';
import { faultsOf } from './faults-of.ts';

/** Far deeper than the stack of a function that calls itself for each level. */
const DEPTH = 500_000;

test('values that are nested very deeply are refused by their kind, wherever they are', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`);
  const objects: unknown = JSON.parse(`${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`);
  for (const value of [deep, objects]) {
    const kind = value === deep ? 'a list' : 'an object';
    assert.deepEqual(
      faultsOf(() => parseDescription({ queues: [{ name: 'a', userMetadata: value }] })),
      [`queues[0].userMetadata: It must be a text, not ${kind}.`],
    );
    for (const configuration of [
      value,
      { queues: value },
      { queues: [value] },
      { queues: [{ name: value }] },
      { queues: [{ name: 'a', lockDuration: value, authorizationRules: value }] },
      { topics: [{ name: 't', subscriptions: value }] },
      { topics: [{ name: 't', subscriptions: [{ name: 's', rules: value }] }] },
      { topics: [{ name: 't', subscriptions: [{ name: 's', rules: [{ correlation: value }] }] }] },
      { UserConfig: value },
      { UserConfig: { Namespaces: [{ Queues: [{ Name: 'a', Properties: value }] }] } },
    ]) {
      assert.notDeepEqual(
        faultsOf(() => parseAnyConfig(configuration)),
        [],
      );
    }
  }
});
