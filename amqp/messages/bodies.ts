import { type BrokerError, messageSizeExceeded } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { compact } from '../wire/compact.ts';
import { codeOf } from '../wire/descriptors.ts';
import { type AmqpValue, binary, described, str } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';
import type { BodyForm } from './amqp-only-sections.ts';
import { jsonBytesMax, jsonText } from './json-text.ts';
import { SECTION } from './sections.ts';

/** A decoded body: the bytes that every protocol returns, and the AMQP form if it is not one data section. */
export interface ReadBody {
  readonly body: Uint8Array;
  readonly form: BodyForm | undefined;
}

const { shownBytes, shownPerByte, heldPerShownByte } = BUDGETS.delivery;
const UTF8 = new TextEncoder();

/** Holds memory for decoded messages, bytes; a negative number releases some. Throws if there is none. */
export type HoldBytes = (bytes: number) => void;

/** What the messages of one delivery take once they are decoded. */
export interface DecodedAccount {
  readonly hold: HoldBytes;
  /** Counts JSON of bodies, bytes; a negative number takes some back. Throws MessageSizeExceeded. */
  readonly show: (bytes: number) => void;
}

/** The account of a delivery of `bytes` bytes, whose bodies together may become only so much JSON. */
export function decodedAccount(bytes: number, hold: HoldBytes): DecodedAccount {
  const most = shownBytes + bytes * shownPerByte;
  let shown = 0;
  const show = (more: number) => {
    shown += more;
    if (shown > most) throw tooLongAsJson(shown);
  };
  return { hold, show };
}

/**
 * Reads the body of a message. One data section, and one value that is a string or a binary, are the body for
 * every protocol. Any other body is kept as it is for AMQP, and other protocols get several data sections
 * joined, and the rest (other values, sequences) as JSON. Throws DecodeError for data that is not binary, and as
 * `account` does.
 */
export function readBody(sections: readonly AmqpValue[], account: DecodedAccount): ReadBody {
  const [first, ...more] = sections;
  if (sections.some(isDataWithoutBytes)) throw new DecodeError('a data section holds bytes');
  if (first?.type !== 'described') return { body: new Uint8Array(), form: { kind: 'none' } };
  const single = more.length === 0 ? readSingle(first) : undefined;
  if (single !== undefined) return single;
  return { body: jsonBody(sections, account), form: { kind: 'sections', sections } };
}

function isDataWithoutBytes(section: AmqpValue): boolean {
  const isData = codeOf(section) === SECTION.data && section.type === 'described';
  return isData && section.value.type !== 'binary';
}

/** Reads a section that its bytes and form restore exactly; undefined for any other. */
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

/** The sections of a body, as they came; what came over HTTP is one data section. */
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

function jsonBody(sections: readonly AmqpValue[], { hold, show }: DecodedAccount): Uint8Array {
  const values = sections.map((section) => (section as { value: AmqpValue }).value);
  if (sections.every((section) => codeOf(section) === SECTION.data)) {
    const parts = values.map((value) => (value.type === 'binary' ? value.value : []));
    return compact(Buffer.concat(parts as Uint8Array[]));
  }
  const size = values.reduce((sum, value) => sum + jsonBytesMax(value) + ','.length, '[]'.length);
  show(size);
  hold(size * heldPerShownByte);
  const [only] = values;
  const isSingle = values.length === 1 && only !== undefined;
  const body = UTF8.encode(isSingle ? jsonText(only) : `[${values.map(jsonText).join(',')}]`);
  show(body.byteLength - size);
  hold((body.byteLength - size) * heldPerShownByte);
  return body;
}

function tooLongAsJson(size: number): BrokerError {
  return messageSizeExceeded(
    `The bodies would be ${size} bytes long as JSON, in which they are shown to clients that do not speak AMQP. Send them as data, or less at a time.`,
    { subCode: '40000' },
  );
}
