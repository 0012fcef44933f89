import { isUtf8 } from 'node:buffer';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { argumentError, BrokerError } from '../../../shared/domain/broker-error.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Message, OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { printsAsBase64 } from '../../../shared/domain/messages/printed-size.ts';
import { base64, parseBase64 } from '../message-formats/base64.ts';
import {
  type PrintOptions,
  printBrokerProperties,
  readBrokerProperties,
} from './broker-properties.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import { printProperties } from './print-properties.ts';
import { readProperties } from './property-json.ts';
import { requireWellFormed } from './well-formed-text.ts';

/**
 * The content type of the batch format (semantics H15): a JSON array of `{Body, BrokerProperties,
 * UserProperties}`. Our extensions (semantics H16) are `"BodyEncoding": "base64"` for bodies that are not text, and
 * typed values in UserProperties.
 */
export const BATCH_CONTENT_TYPE = 'application/vnd.microsoft.servicebus.json';

const utf8 = new TextEncoder();

/** Whether a Content-Type is that of the batch format; case and parameters are ignored. */
export function isBatchContentType(contentType: string | null): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === BATCH_CONTENT_TYPE;
}

/**
 * Parses a batch. One invalid message refuses the whole batch (semantics #149). Throws ArgumentError, InvalidOperation.
 */
export function parseBatch(bytes: Uint8Array): readonly OutgoingMessage[] {
  return readBatch(parseExactJson(bytes, 'The batch'));
}

/** Reads a batch from JSON that `parseExactJson` parsed. Throws ArgumentError, InvalidOperation. */
export function readBatch(json: unknown): readonly OutgoingMessage[] {
  if (!Array.isArray(json)) throw argumentError('The batch must be a JSON array of messages.');
  if (json.length === 0) throw argumentError('The batch holds no message.');
  if (json.length > LIMITS.batchMessages) {
    throw argumentError(
      `The batch holds ${json.length} messages; the limit is ${LIMITS.batchMessages}.`,
    );
  }
  return json.map(readNumbered);
}

function readNumbered(json: unknown, index: number): OutgoingMessage {
  try {
    return readMessage(json);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    throw new BrokerError(error.code, `Message ${index} of the batch: ${error.message}`, {
      cause: error,
      ...(error.subCode === undefined ? {} : { subCode: error.subCode }),
    });
  }
}

function readMessage(json: unknown): OutgoingMessage {
  if (!isJsonObject(json)) throw argumentError('It must be a JSON object.');
  return {
    ...readBrokerProperties(json['BrokerProperties']),
    body: readBody(json['Body'], json['BodyEncoding'] ?? undefined),
    properties: readProperties(json['UserProperties']),
  };
}

function readBody(body: unknown, encoding: unknown): Uint8Array {
  if (typeof body !== 'string') throw argumentError('Body is required and must be a text.');
  if (encoding === undefined) return utf8.encode(requireWellFormed(body, 'Body'));
  if (encoding !== 'base64') throw argumentError("BodyEncoding may only be 'base64'.");
  const bytes = parseBase64(body);
  if (bytes === undefined) throw argumentError('Body is not valid base64.');
  return bytes;
}

/**
 * Prints messages as a JSON array; every body can be restored byte for byte. A body is printed as text
 * where it is UTF-8, unless the message would then not fit into a response and base64 is shorter.
 */
export function printBatch(
  messages: readonly ReceivedMessage[],
  view: PrintOptions['view'] = 'received',
): string {
  const options: PrintOptions = { view, contentType: true, expiresAt: true };
  return `[${messages.map((message) => printMessage(message, options)).join(',')}]`;
}

function printMessage(stored: ReceivedMessage, options: PrintOptions): string {
  const { properties } = stored.message;
  const members = [
    ...printBody(stored.message),
    `"BrokerProperties":${printBrokerProperties(stored, options)}`,
    `"UserProperties":${printProperties(properties)}`,
  ];
  return `{${members.join(',')}}`;
}

function printBody(message: Message): readonly string[] {
  const { text, isBase64 } = printableBody(message);
  return isBase64
    ? [`"Body":"${text}"`, '"BodyEncoding":"base64"']
    : [`"Body":${JSON.stringify(text)}`];
}

/** A body as text: in base64 where it is not UTF-8, or its text would be too long for a response. */
export function printableBody(message: Message): {
  readonly text: string;
  readonly isBase64: boolean;
} {
  const { body } = message;
  if (!isUtf8(body) || printsAsBase64(message)) return { text: base64(body), isBase64: true };
  // `toString` keeps a byte order mark, which a TextDecoder drops by default.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return { text, isBase64: false };
}
