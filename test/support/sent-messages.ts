import fc from 'fast-check';
import { readDelivery } from '../../amqp/messages/read-message.ts';
import { SECTION, writeSections } from '../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  described,
  type MapEntry,
  str,
  symbol,
  uint,
} from '../../amqp/wire/value.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { amqpValue, simpleValue } from './amqp-arbitraries.ts';

const optional = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: undefined });
const typed = (type: AmqpValue['type']) => simpleValue.filter((value) => value.type === type);
const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });
const timestamps = instant.map((ms): AmqpValue => ({ type: 'timestamp', value: BigInt(ms) }));
const id = fc.oneof(typed('string'), typed('ulong'), typed('uuid'), typed('binary'));
const text = typed('string');

/** A list of which some fields are null. */
const listOf = (...fields: readonly fc.Arbitrary<AmqpValue>[]) =>
  fc.tuple(...fields.map(optional)).map((value): AmqpValue => {
    return { type: 'list', value: value.map((field) => field ?? { type: 'null' }) };
  });

const mapOf = (entry: fc.Arbitrary<readonly [string, AmqpValue]>, key: typeof symbol) =>
  fc.uniqueArray(entry, { maxLength: 6, selector: ([name]) => name }).map((entries): AmqpValue => {
    return { type: 'map', value: entries.map(([name, value]): MapEntry => [key(name), value]) };
  });

const annotations = mapOf(
  fc.oneof(
    fc.tuple(fc.constantFrom('x-opt-partition-key', 'x-opt-via-partition-key'), text),
    fc.tuple(fc.constant('x-opt-scheduled-enqueue-time'), timestamps),
    fc.tuple(fc.constantFrom('x-opt-sequence-number', 'x-opt-lock-token', 'x-own'), amqpValue),
  ),
  symbol,
);
const section = (code: bigint, of: fc.Arbitrary<AmqpValue>) =>
  of.map((value): AmqpValue => described(code, value));
const sequence = fc
  .array(amqpValue, { maxLength: 3 })
  .map((value): AmqpValue => ({ type: 'list', value }));
const body: fc.Arbitrary<readonly AmqpValue[]> = fc.oneof(
  section(SECTION.value, amqpValue).map((one) => [one]),
  fc.array(section(SECTION.data, typed('binary')), { maxLength: 3 }),
  fc.array(section(SECTION.sequence, sequence), { maxLength: 2 }),
);
const timeToLive = fc
  .oneof(fc.integer({ min: 1, max: 1e9 }), fc.constantFrom(0xffff_fffe, 0xffff_ffff))
  .map(uint);

/** A message as a client may encode it. */
export const sentBytes: fc.Arbitrary<Buffer> = fc
  .record({
    header: optional(listOf(typed('boolean'), typed('ubyte'), timeToLive, typed('boolean'))),
    deliveryAnnotations: optional(annotations),
    annotations: optional(annotations),
    properties: optional(
      listOf(
        ...[id, typed('binary'), text, text, text, id, typed('symbol'), typed('symbol')],
        ...[timestamps, timestamps, text, typed('uint'), text],
      ),
    ),
    applicationProperties: optional(mapOf(fc.tuple(fc.string({ maxLength: 8 }), amqpValue), str)),
    body,
    footer: optional(annotations),
  })
  .map((sections) => {
    const present = Object.entries(sections).filter(([, value]) => value !== undefined);
    return writeSections(Object.fromEntries(present) as typeof sections & object as never);
  });

/** The same, as the service decodes it. */
export const amqpSent: fc.Arbitrary<OutgoingMessage> = sentBytes.map(
  (bytes) => readDelivery(bytes, 0)[0] as OutgoingMessage,
);
