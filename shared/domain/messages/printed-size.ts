import { LIMITS } from '../limits.ts';
import { type Message, shownPartitionKey } from './message.ts';
import type { Properties, PropertyValue } from './property-value.ts';

/**
 * How many bytes messages take in the JSON batch format: upper bounds, so that a receive claims no
 * more than its answer can carry. `printBatch` of lambdas/http is what they bound.
 */

/** The latest instant that JavaScript knows; no date prints longer. */
const WIDEST_DATE = new Date(8.64e15).toUTCString();
const WIDEST_NUMBER = '18446744073709551615';

/** What every message prints beside its texts: all fields, with their widest numbers and dates. */
const FRAME_BYTES = JSON.stringify({
  Body: '',
  BodyEncoding: 'base64',
  BrokerProperties: {
    ContentType: '',
    CorrelationId: '',
    DeadLetterSource: '',
    DeliveryCount: WIDEST_NUMBER,
    EnqueuedSequenceNumber: WIDEST_NUMBER,
    EnqueuedTimeUtc: WIDEST_DATE,
    ExpiresAtUtc: WIDEST_DATE,
    ForcePersistence: false,
    Label: '',
    LockToken: '00000000-0000-0000-0000-000000000000',
    LockedUntilUtc: WIDEST_DATE,
    MessageId: '',
    PartitionKey: '',
    ReplyTo: '',
    ReplyToSessionId: '',
    ScheduledEnqueueTimeUtc: WIDEST_DATE,
    SequenceNumber: WIDEST_NUMBER,
    SessionId: '',
    State: 'Scheduled',
    TimeToLive: -Number.MAX_VALUE,
    To: '',
    ViaPartitionKey: '',
  },
  UserProperties: {},
  // The comma behind it in the list.
}).concat(',').length;

/** The most bytes that one message takes in the batch format, with the comma behind it. */
export function printedSize(message: Message): number {
  const frame = frameSize(message);
  const { body } = message;
  const { text, isAscii } = textBodySize(body);
  const base64 = base64Size(body.length);
  // Too long in either form, so it is not decoded to see which one it is.
  if (body.length > LIMITS.answerBytes) return frame + Math.max(text, base64);
  const isText = isAscii || isUtf8(body);
  return frame + (isText && !isShorterInBase64(text, body.length, frame) ? text : base64);
}

/**
 * Whether a body that is UTF-8 prints as base64 nevertheless: only where the message would otherwise
 * not fit into an answer, and base64 is shorter.
 */
export function printsAsBase64(message: Message): boolean {
  const { length } = message.body;
  const frame = frameSize(message);
  // No byte prints as more than six.
  if (frame + 6 * length <= LIMITS.answerBytes) return false;
  return isShorterInBase64(textBodySize(message.body).text, length, frame);
}

function isShorterInBase64(text: number, length: number, frame: number): boolean {
  return frame + text > LIMITS.answerBytes && base64Size(length) < text;
}

/** What properties that are added to a message print at most, bytes. */
export function printedPropertiesSize(properties: Properties): number {
  return Object.entries(properties).reduce(
    (sum, [name, value]) => sum + quotedSize(name) + valueSize(value) + ':,'.length,
    0,
  );
}

/** What a text prints at most, bytes, between quotes. */
export function quotedSize(text: string): number {
  let bytes = '""'.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += ASCII_SIZES[unit] ?? 1;
    else if (unit < 0x800) bytes += 2;
    else if (!isSurrogate(unit)) bytes += 3;
    else if (isSurrogatePair(unit, text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += ESCAPE_BYTES;
  }
  return bytes;
}

/**
 * What messages print at most, of which only their size (`messageSize`, and 64 bytes each for what
 * comes beside) and their number are known. A byte of a body prints as six bytes at most; but a
 * property that is named by two control characters and has no value prints as 29 bytes.
 */
export function printedSizeOf(bytes: number, messages: number): number {
  return PRINTED_PER_BYTE * bytes + FRAME_BYTES * messages;
}

const PRINTED_PER_BYTE = 15;
const ESCAPE_BYTES = '\\u0000'.length;

/** What JSON makes of each ASCII character, bytes. */
const ASCII_SIZES = Uint8Array.from(
  { length: 0x80 },
  (_, code) => JSON.stringify(String.fromCharCode(code)).length - '""'.length,
);

function frameSize(message: Message): number {
  return textsOf(message).reduce(
    (sum, text) => sum + quotedSize(text),
    FRAME_BYTES + printedPropertiesSize(message.properties),
  );
}

/** The texts of its system properties. */
function textsOf(message: Message): readonly string[] {
  return [
    message.contentType,
    message.correlationId,
    message.deadLetterSource,
    message.label,
    message.messageId,
    shownPartitionKey(message),
    message.replyTo,
    message.replyToSessionId,
    message.sessionId,
    message.to,
    message.viaPartitionKey,
  ].filter((text) => text !== undefined);
}

/** What a message takes at most in the headers of an answer, where they are not those of every message. */
export function headerFormSize(message: Message): number {
  const properties = Object.entries(message.properties).reduce(
    (sum, [name, value]) => sum + PROPERTY_FRAME_BYTES + asciiSize(name) + headerValueSize(value),
    0,
  );
  return textsOf(message).reduce((sum, text) => sum + asciiSize(text), FRAME_BYTES + properties);
}

/** What stands around a property, as a header or in `BrokerProperties`. */
const PROPERTY_FRAME_BYTES = '{"$dateTimeOffset":""},: \r\n'.length;

function headerValueSize(value: PropertyValue): number {
  const isText = value.type === 'string' || value.type === 'char' || value.type === 'uri';
  return isText ? asciiSize(value.value) : valueSize(value);
}

/** What a text takes at most between quotes, with escapes for what is not ASCII. */
function asciiSize(text: string): number {
  let bytes = '""'.length;
  for (let i = 0; i < text.length; i++) {
    bytes += ASCII_SIZES[text.charCodeAt(i)] ?? ESCAPE_BYTES;
  }
  return bytes;
}

/** What a body prints as text, without quotes, if it is UTF-8, as ASCII surely is. */
function textBodySize(body: Uint8Array): { readonly text: number; readonly isAscii: boolean } {
  let text = 0;
  let isAscii = true;
  // By index: an iterator takes several times as long.
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] ?? 0;
    text += ASCII_SIZES[byte] ?? 1;
    isAscii &&= byte < 0x80;
  }
  return { text, isAscii };
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** What so many bytes take as base64. */
export function base64Size(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

function valueSize(property: PropertyValue): number {
  switch (property.type) {
    case 'null':
      return 'null'.length;
    case 'boolean':
    case 'int':
      return String(property.value).length;
    case 'string':
      return quotedSize(property.value);
    case 'char':
    case 'uri':
    case 'guid':
      return typedSize(property.type, quotedSize(property.value));
    case 'decimal':
    case 'bytes':
      return typedSize(property.type, '""'.length + base64Size(property.value.length));
    case 'dateTime':
      return typedSize('date', '""'.length + WIDEST_ISO_DATE.length);
    default:
      // Quotes, and `.0` behind whole numbers or `-` before a zero.
      return typedSize(property.type, '"-.0"'.length + String(property.value).length);
  }
}

const WIDEST_ISO_DATE = new Date(8.64e15).toISOString();

function typedSize(type: string, value: number): number {
  return '{"$":}'.length + type.length + value;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Half a pair, which no UTF-8 has, is escaped. */
function isSurrogatePair(first: number, second: number): boolean {
  return first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
