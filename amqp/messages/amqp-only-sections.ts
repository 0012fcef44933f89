import { present } from '../../shared/domain/present.ts';
import { decode } from '../wire/decode.ts';
import { encode } from '../wire/encode.ts';
import { trimmed } from '../wire/fields.ts';
import { type AmqpValue, elementsOf, list, type MapEntry, ubyte } from '../wire/value.ts';

/**
 * The sections and fields of an AMQP message that no other protocol can express. They are stored with the
 * message unchanged, as `Message.amqp`: one encoded list, to which fields are only ever appended.
 */
export interface AmqpOnly {
  /** Fields of the header section: durable, priority and first-acquirer. */
  readonly durable?: AmqpValue;
  readonly priority?: AmqpValue;
  readonly firstAcquirer?: AmqpValue;
  /** Message annotations except the broker's. */
  readonly annotations: readonly MapEntry[];
  /** Delivery annotations except the broker's. */
  readonly deliveryAnnotations: readonly MapEntry[];
  /** Fields of the properties section by position, if the fields of `Message` do not restore them. */
  readonly properties: readonly (AmqpValue | undefined)[];
  /** Application properties whose type `Message.properties` does not have. */
  readonly others: readonly MapEntry[];
  /** The form of the body, if it is not one data section. */
  readonly body: BodyForm | undefined;
  readonly footer?: AmqpValue;
}

/** The form of a body whose bytes are in `Message.body`, or the body sections themselves. */
export type BodyForm =
  | { readonly kind: 'text' | 'bytes' | 'none' }
  | { readonly kind: 'sections'; readonly sections: readonly AmqpValue[] };

const BODY_KINDS = ['text', 'bytes', 'none', 'sections'] as const;

const NO_AMQP_ONLY: AmqpOnly = {
  annotations: [],
  deliveryAnnotations: [],
  properties: [],
  others: [],
  body: undefined,
};

/** A stored body section is in two lists, that of sections and that of fields, which its message does not have. */
const PACKED_DEPTH = 2;

/** Encodes the sections for `Message.amqp`; undefined if all are empty. */
export function packAmqpOnly(sections: AmqpOnly): Uint8Array | undefined {
  const { durable, priority, firstAcquirer, annotations, properties, others, body, footer } =
    sections;
  const { deliveryAnnotations } = sections;
  const fields = [
    durable,
    priority,
    entries(annotations),
    properties.some((field) => field !== undefined) ? trimmed(properties) : undefined,
    entries(others),
    body === undefined ? undefined : ubyte(BODY_KINDS.indexOf(body.kind)),
    body?.kind === 'sections' ? list(body.sections) : undefined,
    footer,
    firstAcquirer,
    entries(deliveryAnnotations),
  ];
  if (fields.every((field) => field === undefined)) return undefined;
  return Uint8Array.from(encode(trimmed(fields)));
}

/** Decodes what `packAmqpOnly` returned. */
export function unpackAmqpOnly(bytes: Uint8Array | undefined): AmqpOnly {
  if (bytes === undefined) return NO_AMQP_ONLY;
  // The depth begins below 0, so that a body of the maximum depth can be decoded although two lists enclose it.
  const [
    durable,
    priority,
    annotations,
    properties,
    others,
    kind,
    sections,
    footer,
    firstAcquirer,
    deliveryAnnotations,
  ] = elementsOf(decode(bytes, -PACKED_DEPTH)).map(unlessNull);
  return {
    ...present({ durable, priority, firstAcquirer, footer }),
    annotations: entriesOf(annotations),
    deliveryAnnotations: entriesOf(deliveryAnnotations),
    properties: elementsOf(properties).map(unlessNull),
    others: entriesOf(others),
    body: bodyForm(kind, sections),
  };
}

function unlessNull(value: AmqpValue): AmqpValue | undefined {
  return value.type === 'null' ? undefined : value;
}

function bodyForm(
  kind: AmqpValue | undefined,
  sections: AmqpValue | undefined,
): BodyForm | undefined {
  if (kind?.type !== 'ubyte') return undefined;
  const name = BODY_KINDS[kind.value];
  if (name === undefined) return undefined;
  return name === 'sections' ? { kind: name, sections: elementsOf(sections) } : { kind: name };
}

function entries(value: readonly MapEntry[]): AmqpValue | undefined {
  return value.length === 0 ? undefined : { type: 'map', value };
}

function entriesOf(value: AmqpValue | undefined): readonly MapEntry[] {
  return value?.type === 'map' ? value.value : [];
}
