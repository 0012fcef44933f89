import { CODE, codeOf } from '../wire/descriptors.ts';
import { ListFields } from '../wire/fields.ts';
import { encodeFrame, type Frame } from '../wire/frames.ts';
import { array, described, list, symbol, ubyte } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';

/** The SASL frames (part 5.3 of the standard) that mechanisms with one step use. */

const OUTCOME = { good: 0, refused: 1 } as const;

/** Encodes the frame that offers mechanisms. */
export function mechanismsFrame(mechanisms: readonly string[]): Buffer {
  const names = array('symbol', mechanisms.map(symbol));
  return encodeFrame('sasl', 0, described(CODE.saslMechanisms, list([names])));
}

/** Reads the mechanism that the peer chose, and its response. Throws DecodeError for another frame. */
export function readSaslInit({ performative }: Frame): {
  readonly mechanism: string;
  readonly response: Uint8Array;
} {
  if (performative === undefined || codeOf(performative) !== CODE.saslInit) {
    throw new DecodeError('a sasl-init is expected');
  }
  const fields = new ListFields(performative);
  return { mechanism: fields.text(0) ?? '', response: fields.octets(1) ?? new Uint8Array() };
}

/** Encodes the frame with the outcome of authentication. */
export function outcomeFrame(isGood: boolean): Buffer {
  const code = ubyte(isGood ? OUTCOME.good : OUTCOME.refused);
  return encodeFrame('sasl', 0, described(CODE.saslOutcome, list([code])));
}

/** Reads user and password of PLAIN, each after a zero byte; undefined if the response is malformed. */
export function readPlain(
  response: Uint8Array,
): { readonly user: string; readonly password: string } | undefined {
  const [, user, password, ...more] = Buffer.from(response).toString('utf8').split('\0');
  if (user === undefined || password === undefined || more.length > 0) return undefined;
  return { user, password };
}
