import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { writeRule } from '../../../lambdas/http/atom/write-rule.ts';
import { forbiddenInXml } from '../../../lambdas/http/format/xml-text.ts';
import { readRule } from '../../../lambdas/http/json/read-rule.ts';
import { printRule } from '../../../lambdas/http/json/write-rule.ts';
import { ruleSize } from '../../../shared/broker/management/rule-size.ts';
import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { properties as anyProperties, wholeText } from '../../support/message-arbitraries.ts';

/** Rules of any types of values, also those that only AMQP can set, survive the way through JSON. */

/** Texts that management in JSON may hold, and names that a property of a rule may have. */
const isAllowed = (text: string) => text !== '' && forbiddenInXml(text) === undefined;
const text = wholeText.filter(isAllowed);
const properties = anyProperties.filter((all) =>
  Object.entries(all).every(
    ([name, value]) =>
      isAllowed(name) && (!('value' in value) || forbiddenInXml(String(value.value)) === undefined),
  ),
);
const filter: fc.Arbitrary<RuleInput['filter']> = fc.oneof(
  fc.constantFrom<RuleInput['filter']>({ kind: 'true' }, { kind: 'false' }),
  fc
    .tuple(fc.constantFrom('1=1', '1=0', 'x = 1'), properties)
    .map(([expression, parameters]) => ({ kind: 'sql' as const, expression, parameters })),
  fc
    .tuple(
      fc.record({ label: text, to: text, messageId: text }, { requiredKeys: ['to'] }),
      properties,
    )
    .map(([system, all]) => ({ kind: 'correlation' as const, ...system, properties: all })),
);
const action = fc.option(
  properties.map((parameters) => ({ expression: 'SET x = 1', parameters })),
  { nil: undefined },
);

test('a rule that is printed as JSON is read as the same, with the types and digits of its values', () => {
  fc.assert(
    fc.property(filter, action, (one, then) => {
      const rule: RuleInput = { name: 'r', filter: one, ...(then && { action: then }) };
      const stored = { rule: { ...rule, createdAt: 0 }, version: 0, updatedAt: 0 };
      assert.deepEqual(readRule(new TextEncoder().encode(printRule(stored)), 'R'), {
        ...rule,
        name: 'R',
      });
    }),
    { numRuns: 500 },
  );
});

/** What is around the texts of a rule with a name of one letter, at most. */
const FRAME_BYTES = 1024;

test('R29 a rule takes no more in an answer than what its limit counts', () => {
  const escaped = fc.string({
    unit: fc.constantFrom("'", '"', '&', '<', '>', '\r', '\0', '\\', '漢', 'x'),
  });
  const many = fc.dictionary(
    escaped,
    fc.oneof(
      escaped.map((value) => ({ type: 'string' as const, value })),
      fc.uint8Array().map((value) => ({ type: 'bytes' as const, value })),
      fc.constant({
        type: 'dateTime' as const,
        value: 0,
        text: `1970-01-01T00:00:00.${'0'.repeat(300)}Z`,
      }),
    ),
  );
  const long = fc
    .tuple(escaped, many)
    .map(([to, values]) => ({ kind: 'correlation' as const, to, properties: values }));
  fc.assert(
    fc.property(fc.oneof(filter, long), action, (one, then) => {
      const rule = { name: 'r', filter: one, ...(then && { action: then }), createdAt: 0 };
      const allowed = ruleSize(rule) + FRAME_BYTES;
      const json = printRule({ rule, updatedAt: 0 });
      for (const text of [json, writeRule(rule).xml]) {
        assert.ok(Buffer.byteLength(text) <= allowed, `${Buffer.byteLength(text)}, not ${allowed}`);
      }
    }),
    { numRuns: 500 },
  );
});
