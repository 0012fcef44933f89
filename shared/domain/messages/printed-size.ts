import { LIMITS } from '../limits.ts';
import { type Message, shownPartitionKey } from './message.ts';
import type { Properties, PropertyValue } from './property-value.ts';

/**
 * Upper bounds of the size of messages in the JSON batch format, which `printBatch` of lambdas/http writes. A
 * receive uses them to claim no more messages than its answer can carry. Sizes in bytes.
 */

/** The latest date of JavaScript, whose text is the longest. */
const WIDEST_DATE = new Date(8.64e15).toUTCString();
const WIDEST_NUMBER = '18446744073709551615';

/**
 * The size of a message without its texts and properties: all fields, with their longest numbers and dates.
 */
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
  // The comma that separates it from the next message.
}).concat(',').length;

/** The maximum size of a message in the batch format, with the comma behind it. */
export function printedSize(message: Message): number {
  const frame = frameSize(message);
  const { body } = message;
  const { text, isAscii } = textBodySize(body);
  const base64 = base64Size(body.length);
  // Too long in either form, so decoding it to find its form is not worth the time.
  if (body.length > LIMITS.answerBytes) return frame + Math.max(text, base64);
  const isText = isAscii || isUtf8(body);
  return frame + (isText && !isShorterInBase64(text, body.length, frame) ? text : base64);
}

/**
 * Whether a UTF-8 body is written as base64 nevertheless: only if the message does not fit into an answer as
 * text, and base64 is shorter.
 */
export function printsAsBase64(message: Message): boolean {
  const { length } = message.body;
  const frame = frameSize(message);
  // Six bytes are the longest escape of one byte.
  if (frame + 6 * length <= LIMITS.answerBytes) return false;
  return isShorterInBase64(textBodySize(message.body).text, length, frame);
}

function isShorterInBase64(text: number, length: number, frame: number): boolean {
  return frame + text > LIMITS.answerBytes && base64Size(length) < text;
}

/** The maximum size of application properties. */
export function printedPropertiesSize(properties: Properties): number {
  return Object.entries(properties).reduce(
    (sum, [name, value]) => sum + quotedSize(name) + valueSize(value) + ':,'.length,
    0,
  );
}

/** The size of a text as a JSON string, quotes included. */
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
 * The maximum size of messages of which only the total size and the number are known. `bytes` = the sum of
 * `messageSize`, plus 64 bytes for each message. The bound per byte is not six, the longest escape of a
 * body's byte, but 15: a property named by two control characters takes 29 bytes if its value is null.
 */
export function printedSizeBound(bytes: number, messages: number): number {
  return PRINTED_PER_BYTE * bytes + FRAME_BYTES * messages;
}

const PRINTED_PER_BYTE = 15;
const ESCAPE_BYTES = '\\u0000'.length;

/** The size of each ASCII character in a JSON string. */
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

/** The texts among the system properties of a message. */
export function textsOf(message: Message): readonly string[] {
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

/** The maximum size of a message's properties in the headers of an answer. */
export function headerFormSize(message: Message): number {
  const properties = Object.entries(message.properties).reduce(
    (sum, [name, value]) => sum + PROPERTY_FRAME_BYTES + asciiSize(name) + headerValueSize(value),
    0,
  );
  return textsOf(message).reduce((sum, text) => sum + asciiSize(text), FRAME_BYTES + properties);
}

/** The longest text around the name and value of a property, as a header or in `BrokerProperties`. */
const PROPERTY_FRAME_BYTES = '{"$dateTimeOffset":""},: \r\n'.length;

function headerValueSize(value: PropertyValue): number {
  const isText = value.type === 'string' || value.type === 'char' || value.type === 'uri';
  return isText ? asciiSize(value.value) : valueSize(value);
}

/** The maximum size of a text as a JSON string in which all other than ASCII characters are escaped. */
function asciiSize(text: string): number {
  let bytes = '""'.length;
  for (let i = 0; i < text.length; i++) {
    bytes += ASCII_SIZES[text.charCodeAt(i)] ?? ESCAPE_BYTES;
  }
  return bytes;
}

/** The size of a body as JSON text without quotes, if it is valid UTF-8. An ASCII body always is. */
function textBodySize(body: Uint8Array): { readonly text: number; readonly isAscii: boolean } {
  let text = 0;
  let isAscii = true;
  // An index loop, since an iterator takes several times as long.
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

/** The length of the base64 text of `bytes` bytes. */
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
      // Quotes, and `.0` after an integer or `-` before a zero.
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

/** Whether two UTF-16 units are a surrogate pair. A lone surrogate is escaped, since UTF-8 cannot hold it. */
function isSurrogatePair(first: number, second: number): boolean {
  return first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
