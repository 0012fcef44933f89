import { type AmqpValue, numberOf, textOf } from './value.ts';
import { DecodeError } from './wire-error.ts';

const UINT_MAX = 0xffff_ffff;

/** The fields of a described list, by position; what is left out at the end is null. */
export class ListFields {
  readonly #values: readonly AmqpValue[];

  constructor(value: AmqpValue) {
    if (value.type !== 'described' || value.value.type !== 'list') {
      throw new DecodeError('a described list was expected');
    }
    this.#values = value.value.value;
  }

  /** The value at a position; undefined for null. */
  at(position: number): AmqpValue | undefined {
    const value = this.#values[position];
    return value?.type === 'null' ? undefined : value;
  }

  text(position: number): string | undefined {
    return textOf(this.at(position));
  }

  number(position: number): number | undefined {
    return numberOf(this.at(position));
  }

  /** A number from 0 on, of whichever type. Throws DecodeError for one that the field cannot have. */
  uint(position: number, max = UINT_MAX): number | undefined {
    const number = this.number(position);
    if (number !== undefined && (number < 0 || number > max)) {
      throw new DecodeError('a number is out of its range');
    }
    return number;
  }

  flag(position: number): boolean {
    const value = this.at(position);
    return value?.type === 'boolean' && value.value;
  }

  ulong(position: number): bigint | undefined {
    const value = this.at(position);
    return value?.type === 'ulong' ? value.value : undefined;
  }

  octets(position: number): Uint8Array | undefined {
    const value = this.at(position);
    return value?.type === 'binary' ? value.value : undefined;
  }
}

/** A list without the nulls at its end. */
export function trimmed(values: readonly (AmqpValue | undefined)[]): AmqpValue {
  let length = values.length;
  while (length > 0 && isAbsent(values[length - 1])) length--;
  return {
    type: 'list',
    value: values.slice(0, length).map((value) => value ?? { type: 'null' }),
  };
}

function isAbsent(value: AmqpValue | undefined): boolean {
  return value === undefined || value.type === 'null';
}
