import type { AmqpType, AmqpValue } from './value.ts';
import { DecodeError } from './wire-error.ts';

/** Type codes of primitive values and how to decode them (part 1.6 of the standard). */

const NOTHING = Buffer.alloc(0);

/**
 * Values without bytes, each created once, because a short input may hold very many of them. All messages
 * share these objects, so they are frozen.
 */
const EMPTY: Readonly<Record<number, AmqpValue>> = {
  64: { type: 'null' },
  65: { type: 'boolean', value: true },
  66: { type: 'boolean', value: false },
  67: { type: 'uint', value: 0 },
  68: { type: 'ulong', value: 0n },
  69: { type: 'list', value: Object.freeze([]) },
  // Binaries, strings and symbols of length 0.
  160: { type: 'binary', value: NOTHING },
  161: { type: 'string', value: '' },
  163: { type: 'symbol', value: '' },
  176: { type: 'binary', value: NOTHING },
  177: { type: 'string', value: '' },
  179: { type: 'symbol', value: '' },
};
for (const value of Object.values(EMPTY)) Object.freeze(value);

/** Returns the value of a code without bytes. Throws DecodeError for other codes. */
export function emptyValue(code: number): AmqpValue {
  const value = EMPTY[code];
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

const TYPE_OF_CODE: Readonly<Record<number, AmqpType>> = {
  64: 'null',
  65: 'boolean',
  66: 'boolean',
  67: 'uint',
  68: 'ulong',
  69: 'list',
  80: 'ubyte',
  81: 'byte',
  82: 'uint',
  83: 'ulong',
  84: 'int',
  85: 'long',
  86: 'boolean',
  96: 'ushort',
  97: 'short',
  112: 'uint',
  113: 'int',
  114: 'float',
  115: 'char',
  116: 'decimal32',
  128: 'ulong',
  129: 'long',
  130: 'double',
  131: 'timestamp',
  132: 'decimal64',
  148: 'decimal128',
  152: 'uuid',
  160: 'binary',
  161: 'string',
  163: 'symbol',
  176: 'binary',
  177: 'string',
  179: 'symbol',
  192: 'list',
  193: 'map',
  208: 'list',
  209: 'map',
  224: 'array',
  240: 'array',
};

/** Returns the type of a code, which an empty array carries too. Throws DecodeError for an unknown code. */
export function typeOfCode(code: number): AmqpType {
  const type = TYPE_OF_CODE[code];
  if (type === undefined) throw unknownCode(code);
  return type;
}

/** The error for a code that the standard does not define. */
export function unknownCode(code: number): DecodeError {
  return new DecodeError(`no type has the code 0x${code.toString(16).padStart(2, '0')}`);
}
