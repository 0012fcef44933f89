import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { compact } from './compact.ts';
import { Decoder, decode } from './decode.ts';
import { encode } from './encode.ts';
import { isAttach } from './performatives.ts';
import type { AmqpValue } from './value.ts';
import { DecodeError } from './wire-error.ts';

/** Protocol ids in the header that opens each layer of a connection. */
export const PROTOCOL = { amqp: 0, sasl: 3 } as const;
export const HEADER_BYTES = 8;
const FRAME_TYPE = { amqp: 0, sasl: 1 } as const;
/** More chunks are joined: those of a peer that sends single bytes cost more than their contents. */
const CHUNKS_MAX = 64;
type Layer = keyof typeof PROTOCOL;

/** One frame. A frame without a performative is a heartbeat. */
export interface Frame {
  readonly channel: number;
  readonly performative?: AmqpValue;
  /** The memory that the decoded performative takes, bytes, estimated. */
  readonly decodedBytes: number;
  /** The bytes after the performative: a message, or a part of one. */
  readonly payload: Uint8Array;
}

/** Encodes the protocol header that asks for a layer, or accepts it. */
export function protocolHeader(layer: Layer): Buffer {
  return Buffer.from([0x41, 0x4d, 0x51, 0x50, PROTOCOL[layer], 1, 0, 0]);
}

/** Encodes a frame: size, data offset (2 words), type, channel, performative and payload. */
export function encodeFrame(
  layer: Layer,
  channel: number,
  performative?: AmqpValue,
  payload?: Uint8Array,
): Buffer {
  const data = performative === undefined ? Buffer.alloc(0) : encode(performative);
  const size = HEADER_BYTES + data.length + (payload?.byteLength ?? 0);
  const frame = Buffer.allocUnsafe(size);
  frame.writeUInt32BE(size, 0);
  frame.writeUInt8(2, 4);
  frame.writeUInt8(FRAME_TYPE[layer], 5);
  frame.writeUInt16BE(channel, 6);
  frame.set(data, HEADER_BYTES);
  if (payload !== undefined) frame.set(payload, HEADER_BYTES + data.length);
  return frame;
}

/** Assembles protocol headers and frames from the chunks in which bytes arrive. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  /** Bytes that were pushed and not read yet. */
  get length(): number {
    return this.#length;
  }

  /** Moves unread bytes out of chunks much larger than they are. Returns how many bytes are unread. */
  compactUnread(): number {
    // Only the first chunk, which may be half read, and the newest one can have changed since the last call.
    for (const at of new Set([0, this.#chunks.length - 1])) {
      const chunk = this.#chunks[at];
      if (chunk !== undefined) this.#chunks[at] = compact(chunk);
    }
    return this.#length;
  }

  /** Adds bytes that arrived. */
  push(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#chunks.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#length += bytes.byteLength;
    if (this.#chunks.length > CHUNKS_MAX) this.#joined();
  }

  /**
   * Reads a protocol header and returns the layer that it asks for; undefined until all eight bytes are
   * there. Throws DecodeError for another protocol or version.
   */
  protocolHeader(): Layer | undefined {
    if (this.#length < HEADER_BYTES) return undefined;
    const header = this.#take(HEADER_BYTES);
    for (const layer of ['amqp', 'sasl'] as const) {
      if (header.equals(protocolHeader(layer))) return layer;
    }
    throw new DecodeError('the peer speaks another protocol or version');
  }

  /**
   * Reads the next frame of a layer; undefined until it is complete. Throws DecodeError for an invalid
   * frame, and for one larger than `sizeMax` bytes as soon as its size is known.
   */
  frame(layer: Layer, sizeMax: number): Frame | undefined {
    if (this.#length < HEADER_BYTES) return undefined;
    const size = this.#peekUint32();
    if (size < HEADER_BYTES) throw new DecodeError('a frame is shorter than its header');
    if (size > sizeMax) throw new DecodeError('a frame is larger than agreed');
    return this.#length < size ? undefined : parseFrame(layer, this.#take(size));
  }

  #peekUint32(): number {
    const [first] = this.#chunks;
    return first !== undefined && first.length >= 4
      ? first.readUInt32BE(0)
      : this.#joined().readUInt32BE(0);
  }

  #take(count: number): Buffer {
    const [first] = this.#chunks;
    const from = first !== undefined && first.length >= count ? first : this.#joined();
    const rest = from.subarray(count);
    if (rest.length === 0) this.#chunks.shift();
    else this.#chunks[0] = rest;
    this.#length -= count;
    return from.subarray(0, count);
  }

  #joined(): Buffer {
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

function parseFrame(layer: Layer, frame: Buffer): Frame {
  const dataAt = frame.readUInt8(4) * 4;
  if (dataAt < HEADER_BYTES || dataAt > frame.length) {
    throw new DecodeError('the data of a frame begins outside of it');
  }
  if (frame.readUInt8(5) !== FRAME_TYPE[layer]) throw new DecodeError('a frame has another type');
  const channel = layer === 'amqp' ? frame.readUInt16BE(6) : 0;
  const data = frame.subarray(dataAt);
  if (data.length === 0) return { channel, decodedBytes: 0, payload: data };
  const decoder = new Decoder(data, BUDGETS.connection.performativeValues);
  const performative = decoder.read();
  const decodedBytes = decoder.at + decoder.values * BUDGETS.weights.valueBytes;
  const payload = data.subarray(decoder.at);
  if (!isAttach(performative)) return { channel, performative, decodedBytes, payload };
  // A link keeps its attach until it answers, and binary values in it would keep the whole chunk alive.
  const own = compact(data.subarray(0, decoder.at));
  return { channel, performative: decode(own), decodedBytes, payload };
}
