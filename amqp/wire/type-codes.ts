import type { AmqpType, AmqpValue } from './value.ts';
import { DecodeError } from './wire-error.ts';

/** Type codes of primitive values and how to decode them (part 1.6 of the standard). */

const NOTHING = Buffer.alloc(0);

/**
 * Values without bytes, each created once, because a short input may hold very many of them. All messages
 * share these objects, so they are frozen.
 */
const EMPTY: ReadonlyMap<number, AmqpValue> = new Map([
  [0x40, { type: 'null' }],
  [0x41, { type: 'boolean', value: true }],
  [0x42, { type: 'boolean', value: false }],
  [0x43, { type: 'uint', value: 0 }],
  [0x44, { type: 'ulong', value: 0n }],
  [0x45, { type: 'list', value: Object.freeze([]) }],
  // Binaries, strings and symbols of length 0.
  [0xa0, { type: 'binary', value: NOTHING }],
  [0xa1, { type: 'string', value: '' }],
  [0xa3, { type: 'symbol', value: '' }],
  [0xb0, { type: 'binary', value: NOTHING }],
  [0xb1, { type: 'string', value: '' }],
  [0xb3, { type: 'symbol', value: '' }],
]);
for (const value of EMPTY.values()) Object.freeze(value);

/** Returns the value of a code without bytes. Throws DecodeError for other codes. */
export function emptyValue(code: number): AmqpValue {
  const value = EMPTY.get(code);
  if (value === undefined) throw unknownCode(code);
  return value;
}

/** Decodes a value of fixed width at an offset. Throws DecodeError for a code of no such type. */
export function fixedValue(code: number, bytes: Buffer, at: number): AmqpValue {
  switch (code) {
    case 0x50:
      return { type: 'ubyte', value: bytes.readUInt8(at) };
    case 0x51:
      return { type: 'byte', value: bytes.readInt8(at) };
    case 0x52:
      return { type: 'uint', value: bytes.readUInt8(at) };
    case 0x53:
      return { type: 'ulong', value: BigInt(bytes.readUInt8(at)) };
    case 0x54:
      return { type: 'int', value: bytes.readInt8(at) };
    case 0x55:
      return { type: 'long', value: BigInt(bytes.readInt8(at)) };
    case 0x56:
      return { type: 'boolean', value: bytes.readUInt8(at) !== 0 };
    case 0x60:
      return { type: 'ushort', value: bytes.readUInt16BE(at) };
    case 0x61:
      return { type: 'short', value: bytes.readInt16BE(at) };
    case 0x70:
      return { type: 'uint', value: bytes.readUInt32BE(at) };
    case 0x71:
      return { type: 'int', value: bytes.readInt32BE(at) };
    case 0x72:
      return { type: 'float', value: bytes.readFloatBE(at) };
    case 0x73:
      return { type: 'char', value: bytes.readUInt32BE(at) };
    case 0x74:
      return { type: 'decimal32', value: bytes.subarray(at, at + 4) };
    case 0x80:
      return { type: 'ulong', value: bytes.readBigUInt64BE(at) };
    case 0x81:
      return { type: 'long', value: bytes.readBigInt64BE(at) };
    case 0x82:
      return { type: 'double', value: bytes.readDoubleBE(at) };
    case 0x83:
      return { type: 'timestamp', value: bytes.readBigInt64BE(at) };
    case 0x84:
      return { type: 'decimal64', value: bytes.subarray(at, at + 8) };
    case 0x94:
      return { type: 'decimal128', value: bytes.subarray(at, at + 16) };
    case 0x98:
      return { type: 'uuid', value: bytes.subarray(at, at + 16) };
    default:
      throw unknownCode(code);
  }
}

/** Decodes a binary, string or symbol from its bytes. Throws DecodeError for a code of no such type. */
export function variableValue(code: number, bytes: Buffer): AmqpValue {
  switch (code) {
    case 0xa0:
    case 0xb0:
      return { type: 'binary', value: bytes };
    case 0xa1:
    case 0xb1:
      return { type: 'string', value: bytes.toString('utf8') };
    case 0xa3:
    case 0xb3:
      return { type: 'symbol', value: bytes.toString('latin1') };
    default:
      throw unknownCode(code);
  }
}

const TYPE_OF_CODE: ReadonlyMap<number, AmqpType> = new Map([
  [0x40, 'null'],
  [0x41, 'boolean'],
  [0x42, 'boolean'],
  [0x43, 'uint'],
  [0x44, 'ulong'],
  [0x45, 'list'],
  [0x50, 'ubyte'],
  [0x51, 'byte'],
  [0x52, 'uint'],
  [0x53, 'ulong'],
  [0x54, 'int'],
  [0x55, 'long'],
  [0x56, 'boolean'],
  [0x60, 'ushort'],
  [0x61, 'short'],
  [0x70, 'uint'],
  [0x71, 'int'],
  [0x72, 'float'],
  [0x73, 'char'],
  [0x74, 'decimal32'],
  [0x80, 'ulong'],
  [0x81, 'long'],
  [0x82, 'double'],
  [0x83, 'timestamp'],
  [0x84, 'decimal64'],
  [0x94, 'decimal128'],
  [0x98, 'uuid'],
  [0xa0, 'binary'],
  [0xa1, 'string'],
  [0xa3, 'symbol'],
  [0xb0, 'binary'],
  [0xb1, 'string'],
  [0xb3, 'symbol'],
  [0xc0, 'list'],
  [0xc1, 'map'],
  [0xd0, 'list'],
  [0xd1, 'map'],
  [0xe0, 'array'],
  [0xf0, 'array'],
]);

/** Returns the type of a code, which an empty array carries too. Throws DecodeError for an unknown code. */
export function typeOfCode(code: number): AmqpType {
  const type = TYPE_OF_CODE.get(code);
  if (type === undefined) throw unknownCode(code);
  return type;
}

/** The error for a code that the standard does not define. */
export function unknownCode(code: number): DecodeError {
  return new DecodeError(`no type has the code 0x${code.toString(16).padStart(2, '0')}`);
}
