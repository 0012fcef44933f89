import { encode } from '../wire/encode.ts';
import { type AmqpValue, binary, codeOf, described, str } from '../wire/value.ts';
import type { KeptBody } from './kept-parts.ts';
import { plainText } from './plain-text.ts';
import { SECTION } from './sections.ts';

/** The bytes of a body as every transport sees them, and what else is to be kept of its form. */
export interface BodyParts {
  readonly body: Uint8Array;
  readonly kept: KeptBody | undefined;
}

const UTF8 = new TextEncoder();

/**
 * One data section is the body of other transports too, and so are a text or bytes as a value. What
 * is left (other values, sequences, several sections) others see as JSON, and several data sections
 * as one; they are kept as they are beside it.
 */
export function readBody(sections: readonly AmqpValue[]): BodyParts {
  const [first, ...more] = sections;
  if (first?.type !== 'described') return { body: new Uint8Array(), kept: { kind: 'none' } };
  const single = more.length === 0 ? readSingle(first) : undefined;
  // A text that is not whole would not come back from its bytes.
  if (single !== undefined && sameBytes(writeBody(single.body, single.kept), sections)) {
    return single;
  }
  return { body: shown(sections), kept: { kind: 'sections', sections } };
}

function readSingle(section: AmqpValue): BodyParts | undefined {
  if (section.type !== 'described') return undefined;
  const { value } = section;
  if (value.type === 'binary') {
    const body = Uint8Array.from(value.value);
    if (codeOf(section) === SECTION.data) return { body, kept: undefined };
    if (codeOf(section) === SECTION.value) return { body, kept: { kind: 'bytes' } };
  }
  if (value.type === 'string') return { body: UTF8.encode(value.value), kept: { kind: 'text' } };
  return undefined;
}

/** The sections of a body, as they came; what came over another transport is one data section. */
export function writeBody(body: Uint8Array, kept: KeptBody | undefined): readonly AmqpValue[] {
  switch (kept?.kind) {
    case 'none':
      return [];
    case 'text':
      return [described(SECTION.value, str(Buffer.from(body).toString('utf8')))];
    case 'bytes':
      return [described(SECTION.value, binary(body))];
    case 'sections':
      return kept.sections;
    default:
      return [described(SECTION.data, binary(body))];
  }
}

function sameBytes(ours: readonly AmqpValue[], theirs: readonly AmqpValue[]): boolean {
  return encode(...ours).equals(encode(...theirs));
}

function shown(sections: readonly AmqpValue[]): Uint8Array {
  const values = sections.map((section) => (section as { value: AmqpValue }).value);
  if (sections.every((section) => codeOf(section) === SECTION.data)) {
    return Buffer.concat(
      values.map((value) => (value.type === 'binary' ? value.value : [])) as Uint8Array[],
    );
  }
  const [only] = values;
  const isOne = values.length === 1 && only !== undefined;
  return UTF8.encode(isOne ? plainText(only) : `[${values.map(plainText).join(',')}]`);
}
