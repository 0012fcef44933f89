import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { emptyValue, fixedValue, typeOfCode, unknownCode, variableValue } from './type-codes.ts';
import type { AmqpValue, MapEntry } from './value.ts';
import { DecodeError, TooManyValuesError } from './wire-error.ts';

const { depth: DEPTH_MAX, emptyElements: EMPTY_ELEMENTS_MAX } = BUDGETS.value;

/**
 * Reads encoded values in order. Checks every length and count against the bytes that are present, so that
 * a small input cannot claim large values. Every read throws DecodeError for invalid bytes.
 */
export class Decoder {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #valuesMax: number;
  #at = 0;
  #values: number;

  /**
   * `valuesMax` = the most values to read: a value of one byte takes about fifty bytes once decoded. Beyond
   * it, reads throw TooManyValuesError. `valuesBefore` = how many of them other bytes have used up already.
   */
  constructor(bytes: Uint8Array, valuesMax = Number.POSITIVE_INFINITY, valuesBefore = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.byteLength;
    this.#valuesMax = valuesMax;
    this.#values = valuesBefore;
  }

  /** The offset of the next value, bytes. */
  get at(): number {
    return this.#at;
  }

  /** How many values were read: each container, each of its elements and each descriptor counts as one. */
  get values(): number {
    return this.#values;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Reads the next value. `depth` = how many values enclose it. Throws DecodeError, TooManyValuesError. */
  read(depth = 0): AmqpValue {
    if (depth > DEPTH_MAX) throw new DecodeError('values are nested too deeply');
    const code = this.#byte();
    if (code !== 0x00) return this.#ofCode(code, depth);
    this.#count();
    const descriptor = this.read(depth + 1);
    return { type: 'described', descriptor, value: this.read(depth + 1) };
  }

  #ofCode(code: number, depth: number): AmqpValue {
    this.#count();
    switch (code >> 4) {
      case 0x4:
        return emptyValue(code);
      case 0x5:
      case 0x6:
      case 0x7:
      case 0x8:
      case 0x9:
        return fixedValue(code, this.#bytes, this.#skip(1 << ((code >> 4) - 5)));
      case 0xa:
        return this.#variable(code, this.#byte());
      case 0xb:
        return this.#variable(code, this.#uint32());
      case 0xc:
      case 0xd:
        return this.#compound(code, depth);
      case 0xe:
      case 0xf:
        return this.#array(code, depth);
      default:
        throw unknownCode(code);
    }
  }

  #variable(code: number, size: number): AmqpValue {
    return size === 0 ? emptyValue(code) : variableValue(code, this.#take(size));
  }

  #compound(code: number, depth: number): AmqpValue {
    const isWide = code >= 0xd0;
    const size = isWide ? this.#uint32() : this.#byte();
    const end = this.#endOf(size);
    const count = isWide ? this.#uint32() : this.#byte();
    if (count > end - this.#at) throw new DecodeError('a count is larger than its bytes');
    const items: AmqpValue[] = [];
    for (let i = 0; i < count; i++) items.push(this.read(depth + 1));
    this.#requireAt(end);
    if (code === 0xc0 || code === 0xd0) return { type: 'list', value: items };
    if (code === 0xc1 || code === 0xd1) return { type: 'map', value: pairs(items) };
    throw unknownCode(code);
  }

  #array(code: number, depth: number): AmqpValue {
    if (depth >= DEPTH_MAX) throw new DecodeError('values are nested too deeply');
    if (code !== 0xe0 && code !== 0xf0) throw unknownCode(code);
    const isWide = code === 0xf0;
    const end = this.#endOf(isWide ? this.#uint32() : this.#byte());
    const count = isWide ? this.#uint32() : this.#byte();
    let descriptor: AmqpValue | undefined;
    let element = this.#byte();
    if (element === 0x00) {
      descriptor = this.read(depth + 1);
      element = this.#byte();
    }
    const countMax = element >> 4 === 0x4 ? EMPTY_ELEMENTS_MAX : end - this.#at;
    if (count > countMax) throw new DecodeError('a count is larger than its bytes');
    const items: AmqpValue[] = [];
    for (let i = 0; i < count; i++) {
      if (descriptor !== undefined) this.#count();
      const value = this.#ofCode(element, depth + 1);
      items.push(descriptor === undefined ? value : { type: 'described', descriptor, value });
    }
    this.#requireAt(end);
    const type = descriptor === undefined ? typeOfCode(element) : 'described';
    return { type: 'array', element: type, value: items };
  }

  #count(): void {
    if (++this.#values > this.#valuesMax) throw new TooManyValuesError(this.#valuesMax);
  }

  #byte(): number {
    return this.#bytes.readUInt8(this.#skip(1));
  }

  #uint32(): number {
    return this.#bytes.readUInt32BE(this.#skip(4));
  }

  #take(count: number): Buffer {
    const at = this.#skip(count);
    return this.#bytes.subarray(at, this.#at);
  }

  /** Skips bytes and returns the offset of the first. */
  #skip(count: number): number {
    const at = this.#at;
    this.#at = this.#endOf(count);
    return at;
  }

  #endOf(size: number): number {
    const end = this.#at + size;
    if (end > this.#end) throw new DecodeError('a value is longer than the bytes that were sent');
    return end;
  }

  #requireAt(end: number): void {
    if (this.#at !== end) throw new DecodeError('a size does not match its contents');
  }
}

/** Decodes exactly one value. `depth` = how many values enclose it. Throws DecodeError. */
export function decode(bytes: Uint8Array, depth = 0): AmqpValue {
  const decoder = new Decoder(bytes);
  const value = decoder.read(depth);
  if (!decoder.isAtEnd) throw new DecodeError('bytes follow the value');
  return value;
}

function pairs(items: readonly AmqpValue[]): readonly MapEntry[] {
  if (items.length % 2 === 1) throw new DecodeError('a map has a key without a value');
  const entries: MapEntry[] = [];
  for (let i = 0; i < items.length; i += 2) {
    entries.push([items[i] as AmqpValue, items[i + 1] as AmqpValue]);
  }
  return entries;
}
