import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { compact } from './compact.ts';
import { Decoder, decode } from './decode.ts';
import { encode } from './encode.ts';
import { isAttach } from './performatives.ts';
import type { AmqpValue } from './value.ts';
import { DecodeError } from './wire-error.ts';

/** What both sides say first: the layer they want to speak. */
export const PROTOCOL = { amqp: 0, sasl: 3 } as const;
export const HEADER_BYTES = 8;
const FRAME_TYPE = { amqp: 0, sasl: 1 } as const;
/** A peer that sends a byte at a time makes pieces that cost more than what is in them. */
const CHUNKS_MAX = 64;
type Layer = keyof typeof PROTOCOL;

/** One frame. Without a performative it only says that the peer is still there. */
export interface Frame {
  readonly channel: number;
  readonly performative?: AmqpValue;
  /** What the performative takes once it is decoded, bytes, about. */
  readonly weight: number;
  /** What follows the performative: bytes of a message. */
  readonly payload: Uint8Array;
}

export function protocolHeader(layer: Layer): Buffer {
  return Buffer.from([0x41, 0x4d, 0x51, 0x50, PROTOCOL[layer], 1, 0, 0]);
}

/** Encodes a frame: its size, where its data begins (word 2), its layer and channel, and the data. */
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

/** Cuts what comes in, in whatever pieces, into protocol headers and frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  /** Bytes that wait for the rest of their frame. */
  get length(): number {
    return this.#length;
  }

  /** Keeps what waits in no much larger memory than it needs; returns how many bytes it is. */
  keep(): number {
    // Only the rest of a chunk and the chunk that came last can be new here.
    for (const at of new Set([0, this.#chunks.length - 1])) {
      const chunk = this.#chunks[at];
      if (chunk !== undefined) this.#chunks[at] = compact(chunk);
    }
    return this.#length;
  }

  push(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#chunks.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#length += bytes.byteLength;
    if (this.#chunks.length > CHUNKS_MAX) this.#joined();
  }

  /** The layer that the next eight bytes ask for; undefined until they are there. Throws DecodeError. */
  protocolHeader(): Layer | undefined {
    if (this.#length < HEADER_BYTES) return undefined;
    const header = this.#take(HEADER_BYTES);
    for (const layer of ['amqp', 'sasl'] as const) {
      if (header.equals(protocolHeader(layer))) return layer;
    }
    throw new DecodeError('the peer speaks another protocol or version');
  }

  /**
   * The next frame of a layer; undefined until it is there as a whole. One larger than `sizeMax` is
   * refused before it is waited for. Throws DecodeError.
   */
  frame(layer: Layer, sizeMax: number): Frame | undefined {
    if (this.#length < HEADER_BYTES) return undefined;
    const size = this.#peekUint32();
    if (size < HEADER_BYTES) throw new DecodeError('a frame is shorter than its header');
    if (size > sizeMax) throw new DecodeError('a frame is larger than was agreed');
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
  if (data.length === 0) return { channel, weight: 0, payload: data };
  const decoder = new Decoder(data, BUDGETS.connection.performativeValues);
  const performative = decoder.read();
  const weight = decoder.at + decoder.values * BUDGETS.weights.valueBytes;
  const payload = data.subarray(decoder.at);
  if (!isAttach(performative)) return { channel, performative, weight, payload };
  // It is kept until it is answered, and bytes in it would keep all of the chunk that they came in.
  const own = compact(data.subarray(0, decoder.at));
  return { channel, performative: decode(own), weight, payload };
}
