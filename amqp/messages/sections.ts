import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { Decoder } from '../wire/decode.ts';
import { CODE, codeOf } from '../wire/descriptors.ts';
import { encode } from '../wire/encode.ts';
import { type AmqpValue, described } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';

/** The descriptor codes of message sections (part 3.2 of the standard). */
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

/** The sections of an encoded message. Absent sections are undefined. */
export interface Sections {
  readonly header?: AmqpValue;
  readonly deliveryAnnotations?: AmqpValue;
  readonly annotations?: AmqpValue;
  readonly properties?: AmqpValue;
  readonly applicationProperties?: AmqpValue;
  /** One value section, or any number of data or sequence sections, each a described value. */
  readonly body: readonly AmqpValue[];
  readonly footer?: AmqpValue;
}

/** Decoded sections, and the number of values decoded for the delivery so far. */
export interface ReadSections extends Sections {
  readonly values: number;
}

const NAMES = new Map<bigint, keyof typeof SECTION>(
  Object.entries(SECTION).map(([name, code]) => [code, name as keyof typeof SECTION]),
);

/**
 * Decodes the sections of a message, with at most `valuesMax` values in its delivery. `valuesBefore` of them
 * were decoded already, and `bytesOfAll` is the size of the delivery. If there are more than two values for
 * each byte, most of them take no bytes, and only a few of those are accepted. Throws DecodeError for an
 * invalid message, and TooManyValuesError.
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
      throw new DecodeError('a message has an unknown section');
    }
    if (name === 'data' || name === 'sequence' || name === 'value') {
      body.push(described(code, section.value));
    } else {
      // `ListFields` reads a list with its descriptor; maps are used without one.
      sections[name] = name === 'header' || name === 'properties' ? section : section.value;
    }
  }
  return { ...sections, body, values: decoder.values };
}

/** Encodes a message. Header and properties are lists without descriptor. */
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
