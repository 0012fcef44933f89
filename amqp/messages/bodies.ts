import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { compact } from '../wire/compact.ts';
import { codeOf } from '../wire/descriptors.ts';
import { type AmqpValue, binary, described, str } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';
import type { BodyForm } from './amqp-only-sections.ts';
import { jsonBytesMax, jsonText } from './json-text.ts';
import { SECTION } from './sections.ts';

/** The bytes of a body as every transport sees them, and what else is to be kept of its form. */
export interface ReadBody {
  readonly body: Uint8Array;
  readonly form: BodyForm | undefined;
}

const { shownBytes, shownPerByte, heldPerShownByte } = BUDGETS.delivery;
const UTF8 = new TextEncoder();

/**
 * Told of memory that a body takes beside its bytes, and, as a negative number, of what it takes less than
 * that; throws where there is none.
 */
export type HoldBytes = (bytes: number) => void;

/**
 * One data section is the body of other transports too, and so are a text or bytes as a value. What
 * is left (other values, sequences, several sections) others see as JSON, and several data sections
 * as one; they are kept as they are beside it. `bytes` = how long the sections are. Throws
 * DecodeError for data that is no bytes, and MessageSizeExceeded where the JSON is many times as long as they are.
 */
export function readBody(sections: readonly AmqpValue[], bytes: number, hold: HoldBytes): ReadBody {
  const [first, ...more] = sections;
  if (sections.some(isDataWithoutBytes)) throw new DecodeError('a data section holds bytes');
  if (first?.type !== 'described') return { body: new Uint8Array(), form: { kind: 'none' } };
  const single = more.length === 0 ? readSingle(first) : undefined;
  if (single !== undefined) return single;
  return { body: jsonBody(sections, bytes, hold), form: { kind: 'sections', sections } };
}

function isDataWithoutBytes(section: AmqpValue): boolean {
  const isData = codeOf(section) === SECTION.data && section.type === 'described';
  return isData && section.value.type !== 'binary';
}

/** A body that its bytes and kind bring back as it is. */
function readSingle(section: AmqpValue): ReadBody | undefined {
  if (section.type !== 'described') return undefined;
  const { value } = section;
  const code = codeOf(section);
  if (value.type === 'binary') {
    const body = Uint8Array.from(value.value);
    if (code === SECTION.data) return { body, form: undefined };
    if (code === SECTION.value) return { body, form: { kind: 'bytes' } };
  }
  if (value.type === 'string' && code === SECTION.value) {
    return { body: UTF8.encode(value.value), form: { kind: 'text' } };
  }
  return undefined;
}

/** The sections of a body, as they came; what came over another transport is one data section. */
export function writeBody(body: Uint8Array, form: BodyForm | undefined): readonly AmqpValue[] {
  switch (form?.kind) {
    case 'none':
      return [];
    case 'text':
      return [described(SECTION.value, str(Buffer.from(body).toString('utf8')))];
    case 'bytes':
      return [described(SECTION.value, binary(body))];
    case 'sections':
      return form.sections;
    default:
      return [described(SECTION.data, binary(body))];
  }
}

function jsonBody(sections: readonly AmqpValue[], bytes: number, hold: HoldBytes): Uint8Array {
  const values = sections.map((section) => (section as { value: AmqpValue }).value);
  if (sections.every((section) => codeOf(section) === SECTION.data)) {
    const parts = values.map((value) => (value.type === 'binary' ? value.value : []));
    return compact(Buffer.concat(parts as Uint8Array[]));
  }
  const size = values.reduce((sum, value) => sum + jsonBytesMax(value) + ','.length, '[]'.length);
  if (size > shownBytes + bytes * shownPerByte) throw tooLongAsJson(size);
  hold(size * heldPerShownByte);
  const [only] = values;
  const isSingle = values.length === 1 && only !== undefined;
  const body = UTF8.encode(isSingle ? jsonText(only) : `[${values.map(jsonText).join(',')}]`);
  hold((body.byteLength - size) * heldPerShownByte);
  return body;
}

function tooLongAsJson(size: number): BrokerError {
  return new BrokerError(
    'MessageSizeExceeded',
    `The body would be ${size} bytes long as JSON, in which it is shown to clients that do not speak AMQP. Send it as data, or in several messages.`,
    { subCode: '40000' },
  );
}
