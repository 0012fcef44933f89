import { createHash, type Hash } from 'node:crypto';
import type { Message } from '../../../shared/domain/messages/message.ts';
import type { PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { decimalToText, decodeDecimal } from '../../../shared/filters/evaluation/decimal.ts';
import { isoDate, ticksAsDate, ticksAsTimeSpan } from '../../http/format/date-text.ts';
import { base64 } from '../../http/message-formats/base64.ts';
import { HOPS_PROPERTY, hopsOf } from './hops.ts';

/** A message attribute in the form of SQS. It has a text, or bytes in base64; the lists are always empty, as in SQS. */
export interface MessageAttribute {
  readonly stringValue?: string;
  readonly binaryValue?: string;
  readonly stringListValues: string[];
  readonly binaryListValues: string[];
  /** `String`, `Number` or `Binary`; a type that SQS does not have follows as a label, such as `String.boolean`. */
  readonly dataType: string;
}

/** Message attributes by name. */
export type MessageAttributes = Readonly<Record<string, MessageAttribute>>;

/** The attribute that holds the id that the sender gave; a property of that name is only in `serviceBus`. */
const MESSAGE_ID = 'MessageId';
/** A decimal with a larger exponent would be printed with as many zeros. */
const PLAIN_EXPONENT_MAX = 128;

/** The application properties of a message as message attributes, with its id and its raised count of targets. */
export function messageAttributes(message: Message): MessageAttributes {
  // `fromEntries` defines own keys, so that a property may even be called `__proto__`.
  return Object.fromEntries([
    ...Object.entries(message.properties).map(([name, value]) => [name, attributeOf(value)]),
    [MESSAGE_ID, textual('String', message.messageId)],
    [HOPS_PROPERTY, textual('Number', String(hopsOf(message) + 1))],
  ]);
}

function attributeOf(property: PropertyValue): MessageAttribute {
  switch (property.type) {
    case 'string':
      return textual('String', property.value);
    case 'null':
      return textual('String.null', '');
    case 'dateTime':
      return textual('String.dateTime', dateText(property.value));
    case 'dateTimeOffset':
      return textual('String.dateTimeOffset', ticksAsDate(property.value));
    case 'timeSpan':
      return textual('String.timeSpan', ticksAsTimeSpan(property.value));
    case 'boolean':
    case 'char':
    case 'uri':
    case 'guid':
      return textual(`String.${property.type}`, String(property.value));
    case 'bytes':
      return binary('Binary', property.value);
    case 'decimal':
      return decimalAttribute(property.value);
    case 'float':
    case 'double':
      // SQS has no numbers that are infinite or none.
      if (!Number.isFinite(property.value)) {
        return textual(`String.${property.type}`, String(property.value));
      }
      return textual('Number', String(property.value));
    default:
      return textual('Number', String(property.value));
  }
}

function decimalAttribute(bytes: Uint8Array): MessageAttribute {
  const decimal = decodeDecimal(bytes);
  if (decimal === undefined) return binary('Binary.decimal', bytes);
  const { coefficient, exponent } = decimal;
  const isPlain = Math.abs(exponent) <= PLAIN_EXPONENT_MAX;
  return textual('Number', isPlain ? decimalToText(decimal) : `${coefficient}E${exponent}`);
}

/** ISO 8601, or epoch ms for an instant that JavaScript has no date for. */
function dateText(ms: number): string {
  return Number.isNaN(new Date(ms).getTime()) ? String(ms) : isoDate(ms);
}

const textual = (dataType: string, stringValue: string): MessageAttribute => ({
  stringValue,
  stringListValues: [],
  binaryListValues: [],
  dataType,
});

const binary = (dataType: string, bytes: Uint8Array): MessageAttribute => ({
  binaryValue: base64(bytes),
  stringListValues: [],
  binaryListValues: [],
  dataType,
});

/** What follows the type of an attribute in its digest. */
const STRING_MARK = 1;
const BINARY_MARK = 2;

/** The digest that SQS makes of message attributes: of each in order of the names, its parts with their lengths. */
export function md5OfMessageAttributes(attributes: MessageAttributes): string {
  const hash = createHash('md5');
  for (const [name, { dataType, stringValue, binaryValue = '' }] of sorted(attributes)) {
    addPart(hash, Buffer.from(name));
    addPart(hash, Buffer.from(dataType));
    hash.update(Uint8Array.of(stringValue === undefined ? BINARY_MARK : STRING_MARK));
    addPart(
      hash,
      stringValue === undefined ? Buffer.from(binaryValue, 'base64') : Buffer.from(stringValue),
    );
  }
  return hash.digest('hex');
}

function sorted(attributes: MessageAttributes): readonly (readonly [string, MessageAttribute])[] {
  return Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
}

function addPart(hash: Hash, bytes: Uint8Array): void {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  hash.update(length).update(bytes);
}
