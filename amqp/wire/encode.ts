import type { AmqpArray, AmqpType, AmqpValue } from './value.ts';

/**
 * Encodes values. Each is in the shortest encoding of its type, except that lists that are not empty, maps and arrays
 * have sizes of four bytes; elements of arrays are in the longest encoding.
 */
export function encode(...values: readonly AmqpValue[]): Buffer {
  const out = new Output();
  for (const value of values) write(out, value);
  return out.bytes();
}

/** A buffer that grows. */
class Output {
  #buffer = Buffer.allocUnsafe(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends `count` bytes, which the caller fills in `buffer` from `at`. */
  grow(count: number): { readonly buffer: Buffer; readonly at: number } {
    const needed = this.#length + count;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    const at = this.#length;
    this.#length = needed;
    return { buffer: this.#buffer, at };
  }

  byte(value: number): void {
    const { buffer, at } = this.grow(1);
    buffer[at] = value;
  }

  uint32(value: number): void {
    const { buffer, at } = this.grow(4);
    buffer.writeUInt32BE(value, at);
  }

  octets(value: Uint8Array): void {
    const { buffer, at } = this.grow(value.byteLength);
    buffer.set(value, at);
  }

  /** Overwrites four bytes that were appended before their value was known. */
  setUint32(at: number, value: number): void {
    this.#buffer.writeUInt32BE(value, at);
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

/** Writes a value with its code, in the encoding that `encode` describes. */
function write(out: Output, value: AmqpValue): void {
  const short = shortForm(value);
  if (short !== undefined) {
    for (const byte of short) out.byte(byte);
    return;
  }
  switch (value.type) {
    case 'described':
      out.byte(DESCRIBED);
      write(out, value.descriptor);
      write(out, value.value);
      return;
    case 'string':
      writeOctets(out, 0xa1, octetsOf(value));
      return;
    case 'symbol':
      writeOctets(out, 0xa3, octetsOf(value));
      return;
    case 'binary':
      writeOctets(out, 0xa0, octetsOf(value));
      return;
    default:
      out.byte(codeOfType(value.type));
      writeLong(out, value);
  }
}

type Variable = Extract<AmqpValue, { readonly type: 'string' | 'symbol' | 'binary' }>;

function octetsOf(value: Variable): Uint8Array {
  if (value.type === 'binary') return value.value;
  return Buffer.from(value.value, value.type === 'string' ? 'utf8' : 'latin1');
}

/** Writes a string, symbol or binary with a length of one byte, or of four if it is longer than 255 bytes. */
function writeOctets(out: Output, shortCode: number, bytes: Uint8Array): void {
  if (bytes.byteLength <= 0xff) {
    out.byte(shortCode);
    out.byte(bytes.byteLength);
  } else {
    out.byte(shortCode + 0x10);
    out.uint32(bytes.byteLength);
  }
  out.octets(bytes);
}

/** Returns code and value where both fit into two bytes; undefined otherwise. */
function shortForm(value: AmqpValue): readonly number[] | undefined {
  switch (value.type) {
    case 'null':
      return [0x40];
    case 'boolean':
      return [value.value ? 0x41 : 0x42];
    case 'uint':
      if (value.value === 0) return [0x43];
      return value.value <= 0xff ? [0x52, value.value] : undefined;
    case 'ulong':
      if (value.value === 0n) return [0x44];
      return value.value <= 0xffn ? [0x53, Number(value.value)] : undefined;
    case 'int':
      return value.value >= -128 && value.value <= 127 ? [0x54, value.value & 0xff] : undefined;
    case 'long':
      return value.value >= -128n && value.value <= 127n
        ? [0x55, Number(value.value & 0xffn)]
        : undefined;
    case 'list':
      return value.value.length === 0 ? [0x45] : undefined;
    default:
      return undefined;
  }
}

/** The byte before a descriptor, where other values have their code. */
const DESCRIBED = 0x00;

/** The code of each type's longest encoding, which fits every value of the type. */
const CODES: Readonly<Record<Exclude<AmqpType, 'described'>, number>> = {
  null: 0x40,
  boolean: 0x56,
  ubyte: 0x50,
  ushort: 0x60,
  uint: 0x70,
  ulong: 0x80,
  byte: 0x51,
  short: 0x61,
  int: 0x71,
  long: 0x81,
  float: 0x72,
  double: 0x82,
  decimal32: 0x74,
  decimal64: 0x84,
  decimal128: 0x94,
  char: 0x73,
  timestamp: 0x83,
  uuid: 0x98,
  binary: 0xb0,
  string: 0xb1,
  symbol: 0xb3,
  list: 0xd0,
  map: 0xd1,
  array: 0xf0,
};

function codeOfType(type: Exclude<AmqpType, 'described'>): number {
  return CODES[type];
}

/** Writes the value in the longest encoding of its type, without the code. */
function writeLong(out: Output, value: AmqpValue): void {
  switch (value.type) {
    case 'null':
      return;
    case 'string':
    case 'symbol':
    case 'binary': {
      const bytes = octetsOf(value);
      out.uint32(bytes.byteLength);
      out.octets(bytes);
      return;
    }
    case 'decimal32':
    case 'decimal64':
    case 'decimal128':
    case 'uuid':
      out.octets(value.value);
      return;
    case 'list':
      writeSized(out, value.value.length, () => {
        for (const item of value.value) write(out, item);
      });
      return;
    case 'map':
      writeSized(out, value.value.length * 2, () => {
        for (const [key, item] of value.value) {
          write(out, key);
          write(out, item);
        }
      });
      return;
    case 'array':
      writeSized(out, value.value.length, () => writeElements(out, value));
      return;
    case 'described':
      write(out, value.value);
      return;
    default:
      writeNumber(out, value);
  }
}

/**
 * Writes the elements of an array: first the code that all of them share, after their descriptor if they have one, then
 * each value without a code.
 */
function writeElements(out: Output, { element, value }: AmqpArray): void {
  const [first] = value;
  if (element !== 'described') {
    out.byte(codeOfType(element));
    for (const item of value) writeLong(out, item);
    return;
  }
  // An empty array of described values has lost their descriptor.
  if (first?.type !== 'described') {
    out.byte(CODES.null);
    return;
  }
  out.byte(DESCRIBED);
  write(out, first.descriptor);
  // Never described again: the decoder refuses such elements.
  const inner = first.value.type;
  out.byte(inner === 'described' ? CODES.null : codeOfType(inner));
  for (const item of value) if (item.type === 'described') writeLong(out, item.value);
}

type NumberValue = Extract<AmqpValue, { readonly value: number | bigint | boolean }>;

function writeNumber(out: Output, value: NumberValue): void {
  // The first hex digit of a code tells the width: 5 is one byte, 6 two, 7 four, 8 eight (part 1.2 of the standard).
  const width = 1 << ((codeOfType(value.type) >> 4) - 5);
  const { buffer, at } = out.grow(width);
  switch (value.type) {
    case 'boolean':
      buffer[at] = value.value ? 1 : 0;
      return;
    case 'ubyte':
      buffer.writeUInt8(value.value, at);
      return;
    case 'byte':
      buffer.writeInt8(value.value, at);
      return;
    case 'ushort':
      buffer.writeUInt16BE(value.value, at);
      return;
    case 'short':
      buffer.writeInt16BE(value.value, at);
      return;
    case 'uint':
    case 'char':
      buffer.writeUInt32BE(value.value, at);
      return;
    case 'int':
      buffer.writeInt32BE(value.value, at);
      return;
    case 'float':
      buffer.writeFloatBE(value.value, at);
      return;
    case 'double':
      buffer.writeDoubleBE(value.value, at);
      return;
    case 'ulong':
      buffer.writeBigUInt64BE(value.value, at);
      return;
    case 'long':
    case 'timestamp':
      buffer.writeBigInt64BE(value.value, at);
      return;
  }
}

/** Writes size, count and items. The size is filled in last, when it is known. */
function writeSized(out: Output, count: number, writeItems: () => void): void {
  const { at } = out.grow(4);
  out.uint32(count);
  writeItems();
  out.setUint32(at, out.length - at - 4);
}
