import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { Decoder } from '../wire/decode.ts';
import { CODE, codeOf } from '../wire/descriptors.ts';
import { encode } from '../wire/encode.ts';
import { type AmqpValue, described } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';

/** The sections of a message by their codes (part 3.2 of the standard). */
export const SECTION = {
  header: CODE.header,
  deliveryAnnotations: CODE.deliveryAnnotations,
  annotations: CODE.annotations,
  properties: CODE.properties,
  applicationProperties: CODE.applicationProperties,
  data: CODE.data,
  sequence: CODE.sequence,
  value: CODE.value,
  footer: CODE.footer,
} as const;

const { emptyElements: EMPTY_ELEMENTS_MAX } = BUDGETS.value;

/** A message as it lies in a transfer. Sections that are absent are undefined. */
export interface Sections {
  readonly header?: AmqpValue;
  readonly deliveryAnnotations?: AmqpValue;
  readonly annotations?: AmqpValue;
  readonly properties?: AmqpValue;
  readonly applicationProperties?: AmqpValue;
  /** One value, or any number of data or sequence sections; each still described. */
  readonly body: readonly AmqpValue[];
  readonly footer?: AmqpValue;
}

/** What was read, and how many values it took, those read before included. */
export interface ReadSections extends Sections {
  readonly values: number;
}

const NAMES = new Map<bigint, keyof typeof SECTION>(
  Object.entries(SECTION).map(([name, code]) => [code, name as keyof typeof SECTION]),
);

/**
 * Takes a message apart, of so many values at most. `valuesBefore` were read of the delivery that it
 * came in, whose bytes are `bytesOfAll`: values of which there are more than two for a byte take none,
 * and few of these are read. Throws DecodeError, also where there are more values.
 */
export function readSections(
  bytes: Uint8Array,
  {
    valuesMax = BUDGETS.delivery.values as number,
    valuesBefore = 0,
    bytesOfAll = bytes.byteLength,
  } = {},
): ReadSections {
  const most = Math.min(valuesMax, EMPTY_ELEMENTS_MAX + 2 * bytesOfAll);
  const decoder = new Decoder(bytes, most, valuesBefore);
  const sections: Record<string, AmqpValue> = {};
  const body: AmqpValue[] = [];
  while (!decoder.isAtEnd) {
    const section = decoder.read();
    const code = codeOf(section);
    const name = code === undefined ? undefined : NAMES.get(code);
    if (code === undefined || name === undefined || section.type !== 'described') {
      throw new DecodeError('a message has a section of an unknown kind');
    }
    if (name === 'data' || name === 'sequence' || name === 'value') {
      body.push(described(code, section.value));
    } else {
      // A list is read with its descriptor, a map without.
      sections[name] = name === 'header' || name === 'properties' ? section : section.value;
    }
  }
  return { ...sections, body, values: decoder.values };
}

/** Puts a message together; header and properties come as plain lists. */
export function writeSections(sections: Sections): Buffer {
  const { header, deliveryAnnotations, annotations, properties, applicationProperties } = sections;
  return encode(
    ...[
      section(SECTION.header, header),
      section(SECTION.deliveryAnnotations, deliveryAnnotations),
      section(SECTION.annotations, annotations),
      section(SECTION.properties, properties),
      section(SECTION.applicationProperties, applicationProperties),
      ...sections.body,
      section(SECTION.footer, sections.footer),
    ].filter((value) => value !== undefined),
  );
}

function section(code: bigint, value: AmqpValue | undefined): AmqpValue | undefined {
  return value === undefined ? undefined : described(code, value);
}
