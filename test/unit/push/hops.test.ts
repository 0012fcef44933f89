import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProperties } from '../../../lambdas/http/format/property-json.ts';
import {
  HOPS_MAX,
  HOPS_MAX_DEAD,
  hasTooManyHops,
  hopsOf,
} from '../../../lambdas/push/event/hops.ts';
import { printEvent } from '../../../lambdas/push/event/print-event.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { batch, FACTS, locked } from './batches.ts';

const withHops = (value: PropertyValue): { properties: Properties } => ({
  properties: { 'dynabus-hops': value },
});

const COUNTS: readonly [PropertyValue, number][] = [
  [{ type: 'int', value: 3 }, 3],
  [{ type: 'byte', value: 3 }, 3],
  [{ type: 'long', value: 3n }, 3],
  [{ type: 'double', value: 3 }, 3],
  [{ type: 'string', value: '3' }, 3],
  [{ type: 'ulong', value: 2n ** 64n - 1n }, 2 ** 31 - 2],
  [{ type: 'string', value: '9999999999' }, 2 ** 31 - 2],
  [{ type: 'int', value: -3 }, 0],
  [{ type: 'double', value: 0.5 }, 0],
  [{ type: 'double', value: Number.NaN }, 0],
  [{ type: 'double', value: Number.POSITIVE_INFINITY }, 0],
  [{ type: 'string', value: '3x' }, 0],
  [{ type: 'string', value: '' }, 0],
  [{ type: 'boolean', value: true }, 0],
  [{ type: 'bytes', value: Uint8Array.of(3) }, 0],
];

test('the targets that a message has passed are counted in any type of a number', () => {
  assert.equal(hopsOf({ properties: {} }), 0);
  for (const [value, count] of COUNTS) {
    assert.equal(
      hopsOf(withHops(value)),
      count,
      `${value.type} ${'value' in value && value.value}`,
    );
  }
});

interface Copied {
  readonly messageAttributes: Readonly<Record<string, { readonly stringValue: string }>>;
  readonly serviceBus: { readonly properties: unknown };
}

/** The properties of what a target sends that copies those of what it gets. */
const COPIES: Readonly<Record<string, (record: Copied) => Properties>> = {
  properties: ({ serviceBus }) => readProperties(serviceBus.properties),
  'message attributes as texts': ({ messageAttributes }) =>
    Object.fromEntries(
      Object.entries(messageAttributes).map(([name, { stringValue: value }]) => [
        name,
        { type: 'string', value },
      ]),
    ),
};

for (const [what, copy] of Object.entries(COPIES)) {
  for (const [subQueue, most] of [
    ['main', HOPS_MAX],
    ['deadLetter', HOPS_MAX_DEAD],
  ] as const) {
    test(`a target of ${subQueue} that sends a message to its own queue, with the ${what}, is stopped`, () => {
      let passed = 0;
      let message = locked();
      while (!hasTooManyHops(message.message, subQueue)) {
        passed++;
        assert.ok(passed <= most);
        const [record] = JSON.parse(printEvent(batch([message]), FACTS) ?? '{}').Records;
        message = locked({ properties: copy(record) });
      }
      assert.equal(passed, most);
    });
  }
}
