import { Packr } from 'msgpackr';
import { assert } from '../../domain/assert.ts';
import type { Message } from '../../domain/messages/message.ts';
import type {
  Properties,
  PropertyType,
  PropertyValue,
} from '../../domain/messages/property-value.ts';
import type { Compression } from './compression.ts';

/**
 * The stored form of messages: MessagePack, compressed if that saves bytes; the first byte says which. Property types
 * and bodies are preserved exactly.
 */

const PLAIN = 0;
const BROTLI = 1;
/** Compressing fewer bytes would hardly save a unit of 1 KB. */
const COMPRESS_FROM_BYTES = 300;

const packr = new Packr({ useRecords: false, int64AsType: 'bigint', moreTypes: false });

/** The fields of a message in stored order, the rarest last. Append only. */
const FIELDS = [
  'messageId',
  'body',
  'properties',
  'contentType',
  'label',
  'correlationId',
  'sessionId',
  'partitionKey',
  'timeToLiveMs',
  'to',
  'replyTo',
  'replyToSessionId',
  'viaPartitionKey',
  'scheduledEnqueueAt',
  'forcePersistence',
  'enqueuedSequenceNumber',
  'deadLetterSource',
  'hops',
  'amqp',
] as const satisfies readonly (keyof Message)[];

/** The types of property values, by their stored number. Append only. */
const TYPES = [
  'null',
  'boolean',
  'string',
  'char',
  'uri',
  'guid',
  'byte',
  'sbyte',
  'short',
  'ushort',
  'int',
  'uint',
  'float',
  'double',
  'long',
  'ulong',
  'dateTime',
  'dateTimeOffset',
  'timeSpan',
  'decimal',
  'bytes',
] as const satisfies readonly PropertyType[];

const NEGATIVE_ZERO = '-0';

/** Encodes messages; `undefined` keeps the place of a missing one. */
export async function encodeMessages(
  messages: readonly (Message | undefined)[],
  compression: Compression,
): Promise<Uint8Array> {
  const plain = packr.pack(messages.map((message) => message && toRow(message)));
  if (plain.length >= COMPRESS_FROM_BYTES) {
    const packed = await compression.compress(plain);
    if (packed.length < plain.length) return Buffer.concat([Uint8Array.of(BROTLI), packed]);
  }
  return Buffer.concat([Uint8Array.of(PLAIN), plain]);
}

/** Decodes the result of `encodeMessages`. */
export async function decodeMessages(
  bytes: Uint8Array,
  compression: Compression,
): Promise<readonly (Message | undefined)[]> {
  const rest = bytes.subarray(1);
  const plain = bytes[0] === BROTLI ? await compression.decompress(rest) : rest;
  const rows: unknown = packr.unpack(plain);
  assert(Array.isArray(rows), 'a payload is a list of messages');
  return rows.map((row) => (row === null || row === undefined ? undefined : fromRow(row)));
}

function toRow(message: Message): unknown[] {
  const row: unknown[] = FIELDS.map((field) =>
    field === 'properties' ? packProperties(message.properties) : message[field],
  );
  while (row.length > 0 && row.at(-1) === undefined) row.pop();
  return row.map((value) => (value === undefined ? null : value));
}

function fromRow(row: unknown): Message {
  assert(Array.isArray(row), 'a stored message is a list of fields');
  const message: Record<string, unknown> = {};
  for (const [position, value] of row.entries()) {
    const field = FIELDS[position];
    if (field !== undefined && value !== null) message[field] = value;
  }
  message['properties'] = unpackProperties(row[FIELDS.indexOf('properties')]);
  if (typeof message['enqueuedSequenceNumber'] === 'number') {
    message['enqueuedSequenceNumber'] = BigInt(message['enqueuedSequenceNumber']);
  }
  return message as unknown as Message;
}

/** Properties as a flat list: name, value, name, value. Values of common types are stored as they are. */
export function packProperties(properties: Properties): unknown[] | undefined {
  const entries = Object.entries(properties);
  if (entries.length === 0) return undefined;
  return entries.flatMap(([name, value]) => [name, packValue(value)]);
}

function packValue(property: PropertyValue): unknown {
  switch (property.type) {
    case 'null':
      return null;
    case 'string':
    case 'boolean':
    case 'int':
      return property.value;
    case 'float':
    case 'double':
      // MessagePack knows no negative zero,
      if (Object.is(property.value, -0)) return [TYPES.indexOf(property.type), NEGATIVE_ZERO];
      if (property.type === 'float') return [TYPES.indexOf('float'), property.value];
      // nor does it tell 7.0 from 7.
      return Number.isInteger(property.value)
        ? [TYPES.indexOf('double'), property.value]
        : property.value;
    case 'long':
    case 'ulong':
    case 'dateTimeOffset':
    case 'timeSpan':
      return [TYPES.indexOf(property.type), property.value.toString()];
    case 'dateTime': {
      const { value, text } = property;
      return [TYPES.indexOf('dateTime'), value, ...(text === undefined ? [] : [text])];
    }
    default:
      return [TYPES.indexOf(property.type), property.value];
  }
}

/** The reverse of `packProperties`. */
export function unpackProperties(list: unknown): Properties {
  if (!Array.isArray(list)) return {};
  const entries: [string, PropertyValue][] = [];
  for (let i = 0; i < list.length; i += 2)
    entries.push([String(list[i]), unpackValue(list[i + 1])]);
  return Object.fromEntries(entries);
}

function unpackValue(stored: unknown): PropertyValue {
  if (stored === null || stored === undefined) return { type: 'null' };
  if (typeof stored === 'string') return { type: 'string', value: stored };
  if (typeof stored === 'boolean') return { type: 'boolean', value: stored };
  if (typeof stored === 'number') {
    return { type: Number.isInteger(stored) ? 'int' : 'double', value: stored };
  }
  assert(Array.isArray(stored), 'a stored property is a plain value or a typed pair');
  const type = TYPES[Number(stored[0])];
  assert(type !== undefined, 'the type of a stored property is known');
  const value: unknown = stored[1];
  if (type === 'long' || type === 'ulong' || type === 'dateTimeOffset' || type === 'timeSpan') {
    return { type, value: BigInt(String(value)) };
  }
  if (value === NEGATIVE_ZERO && (type === 'float' || type === 'double'))
    return { type, value: -0 };
  const [, , text] = stored;
  if (type === 'dateTime' && text !== undefined) return { type, value, text } as PropertyValue;
  return { type, value } as PropertyValue;
}
