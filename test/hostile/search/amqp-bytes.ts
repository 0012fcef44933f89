import { SECTION } from '../../../amqp/messages/sections.ts';
import { CODE } from '../../../amqp/wire/descriptors.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import type { Performative } from '../../../amqp/wire/performatives.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described as describedValue,
  list,
  str,
  symbol,
  uint,
} from '../../../amqp/wire/value.ts';
import type { Right, Scene } from './scene.ts';
import type { Step } from './wire.ts';

/**
 * Frames put together out of encoded pieces, so that a value of 64,000 others is some bytes and
 * nothing more on the side of the attacker.
 */

const FRAME_BYTES_MAX = 65_536;
/** What a transfer takes beside its payload. */
const PART_BYTES = 65_000;
const WINDOW = 2 ** 31 - 1;
export const NULL = Buffer.of(0x40);

export const text = (value: string): Buffer => encode(str(value));
export const number = (value: number): Buffer => encode(uint(value));
const flag = (value: boolean): Buffer => encode(bool(value));

/** A list of encoded values. */
export function listOf(...items: readonly Buffer[]): Buffer {
  return compound(0xd0, items.length, Buffer.concat(items));
}

/** A map of encoded keys and values, which take turns. */
export function mapping(...items: readonly Buffer[]): Buffer {
  return compound(0xd1, items.length, Buffer.concat(items));
}

/** A list, map or array in its long form. */
export function compound(code: number, count: number, data: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head[0] = code;
  head.writeUInt32BE(data.length + 4, 1);
  head.writeUInt32BE(count, 5);
  return Buffer.concat([head, data]);
}

export function described(code: number | bigint, value: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x00, 0x53, Number(code)), value]);
}

/** A frame with whatever data. */
export function frame(data: Buffer, channel = 0, type = 0): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length + 8, 0);
  head.writeUInt8(2, 4);
  head.writeUInt8(type, 5);
  head.writeUInt16BE(channel, 6);
  return Buffer.concat([head, data]);
}

/** A performative with encoded fields; absent ones are null. */
export function say(
  kind: Performative['kind'],
  fields: readonly (Buffer | undefined)[],
  channel = 0,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const values = listOf(...fields.map((field) => field ?? NULL));
  return frame(Buffer.concat([described(CODE[kind], values), payload]), channel);
}

/** The start of a connection without a right: no security layer, or one that asks for nothing. */
export function asNobody(mechanism?: 'ANONYMOUS' | 'MSSBCBS'): Buffer {
  const header = protocolHeader('amqp');
  return mechanism === undefined ? header : Buffer.concat([sasl(mechanism, ''), header]);
}

/** The start of one with the name and key of a rule. */
export function asOwner({ keys }: Scene, right: Right): Buffer {
  return Buffer.concat([sasl('PLAIN', `\0${right}\0${keys[right]}`), protocolHeader('amqp')]);
}

function sasl(mechanism: string, response: string): Buffer {
  const init = describedValue(0x41n, list([symbol(mechanism), binary(Buffer.from(response))]));
  return Buffer.concat([protocolHeader('sasl'), encodeFrame('sasl', 0, init)]);
}

export function open(...more: readonly (Buffer | undefined)[]): Buffer {
  return say('open', [text('hostile'), text('localhost'), ...more]);
}

export function begin(channel = 0, ...more: readonly (Buffer | undefined)[]): Buffer {
  const windows = [undefined, number(0), number(WINDOW), number(WINDOW)];
  return say('begin', [...windows, ...more], channel);
}

/** A connection that is open, with one session. */
export const started = (opening: Buffer): Buffer => Buffer.concat([opening, open(), begin()]);

export interface Attach {
  readonly handle: number;
  /** Whether the attacker receives on it. */
  readonly isReceiver: boolean;
  /** Encoded, or an address. */
  readonly source?: Buffer | string;
  readonly target?: Buffer | string;
  readonly unsettled?: Buffer;
  readonly properties?: Buffer;
  readonly channel?: number;
}

export function attach(one: Attach): Buffer {
  const terminus = (code: number, value: Buffer | string | undefined) =>
    typeof value === 'string' ? described(code, listOf(text(value))) : value;
  const fields = [
    ...[text(`link-${one.handle}`), number(one.handle), flag(one.isReceiver)],
    ...[undefined, undefined, terminus(0x28, one.source ?? 'here')],
    ...[terminus(0x29, one.target ?? 'here'), one.unsettled, undefined],
    ...[one.isReceiver ? undefined : number(0), undefined, undefined, undefined, one.properties],
  ];
  return say('attach', fields, one.channel);
}

/** Credit for a link; without a handle for the session. */
export function flow(handle: number | undefined, credit: number, channel = 0): Buffer {
  const windows = [number(0), number(WINDOW), number(0), number(WINDOW)];
  const link = handle === undefined ? [] : [number(handle), number(0), number(credit)];
  return say('flow', [...windows, ...link], channel);
}

/** A flow that wants to be answered. */
export function echo(): Buffer {
  const nothing = Array<undefined>(5).fill(undefined);
  return say('flow', [number(0), number(1), number(0), number(1), ...nothing, flag(true)]);
}

export interface Transfer {
  readonly handle: number;
  readonly id: number;
  readonly channel?: number;
  readonly format?: number;
  readonly isSettled?: boolean;
  /** Encoded. */
  readonly state?: Buffer;
  /** Whether the last frame leaves the message open. */
  readonly isUnfinished?: boolean;
}

/** A message in as many frames as it needs. */
export function transfer(one: Transfer, payload: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < payload.length; at += PART_BYTES) {
    const isLast = at + PART_BYTES >= payload.length;
    const fields = [
      ...[number(one.handle), number(one.id), encode(binary(Buffer.of(one.id & 0xff)))],
      ...[number(one.format ?? 0), flag(one.isSettled ?? false)],
      ...[flag(!isLast || (one.isUnfinished ?? false)), undefined, one.state],
    ];
    frames.push(say('transfer', fields, one.channel, payload.subarray(at, at + PART_BYTES)));
  }
  return Buffer.concat(frames);
}

export const section = (name: keyof typeof SECTION, value: Buffer): Buffer =>
  described(SECTION[name], value);

/** A message with one data section. */
export const data = (bytes: Buffer): Buffer => section('data', encode(binary(bytes)));

/** A request to a node; `body` is encoded. */
export function request(
  operation: string,
  body: Buffer,
  { replyTo, fields = {} }: { replyTo?: string; fields?: Readonly<Record<string, AmqpValue>> } = {},
): Buffer {
  const properties = [text('r'), NULL, NULL, NULL, replyTo === undefined ? NULL : text(replyTo)];
  const more = Object.entries(fields).flatMap(([name, value]) => [text(name), encode(value)]);
  return Buffer.concat([
    section('properties', listOf(...properties)),
    section('applicationProperties', mapping(text('operation'), text(operation), ...more)),
    section('value', body),
  ]);
}

/** Wraps what a connection says into messages of a WebSocket, as a client masks them (with zeros). */
export function inWebSocket(bytes: Uint8Array): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += FRAME_BYTES_MAX) {
    const part = bytes.subarray(at, at + FRAME_BYTES_MAX);
    parts.push(webSocketFrame(0x82, part));
  }
  return Buffer.concat(parts);
}

export function webSocketFrame(first: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(14);
  head[0] = first;
  head[1] = 0xff;
  head.writeUInt32BE(payload.byteLength, 6);
  return Buffer.concat([head, payload]);
}

export const UPGRADE = Buffer.from(
  'GET /$servicebus/websocket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: AMQPWSB10\r\n\r\n',
);

const NOTHING = Buffer.alloc(0);

/** Waits until so many links may send. */
export function untilCredit(links = 1): Step {
  const flow = Buffer.of(0x00, 0x53, Number(CODE.flow));
  return {
    answer: (heard) => {
      let at = -1;
      for (let count = 0; count < links; count++) {
        at = heard.indexOf(flow, at + 1);
        if (at < 0) return undefined;
      }
      return NOTHING;
    },
  };
}

/** Waits until the server speaks the protocol of WebSockets. */
export const UPGRADED: Step = {
  answer: (heard) => (heard.includes('HTTP/1.1 101') ? NOTHING : undefined),
};
