import { CODE, codeOf } from './descriptors.ts';
import { ListFields, trimmed } from './fields.ts';
import { type AmqpValue, binary, bool, described, list, NULL, str, symbol } from './value.ts';

/** An error as a frame carries it. */
export interface ErrorInfo {
  readonly condition: string;
  readonly description?: string;
  /** A map. */
  readonly info?: AmqpValue;
}

/** The state of a delivery (part 3.4 of the standard), also within a transaction (part 4.5). */
export type DeliveryState =
  | Outcome
  | { readonly kind: 'declared'; readonly transaction: Uint8Array }
  | {
      readonly kind: 'transactional';
      readonly transaction: Uint8Array;
      readonly outcome?: Outcome;
    }
  /** Any other state. None of them is an outcome. */
  | { readonly kind: 'other' };

/** A terminal delivery state. */
export type Outcome =
  | { readonly kind: 'accepted' | 'released' }
  | { readonly kind: 'rejected'; readonly error?: ErrorInfo }
  | {
      readonly kind: 'modified';
      readonly deliveryFailed?: boolean;
      readonly undeliverableHere?: boolean;
      /** A map. */
      readonly annotations?: AmqpValue;
    };

export const ACCEPTED: Outcome = { kind: 'accepted' };

/** Reads a delivery state; undefined if the field is absent. Throws DecodeError. */
export function readDeliveryState(value: AmqpValue | undefined): DeliveryState | undefined {
  if (value === undefined) return undefined;
  const outcome = readOutcome(value);
  if (outcome !== undefined) return outcome;
  const code = codeOf(value);
  if (code === CODE.declared) {
    return { kind: 'declared', transaction: new ListFields(value).octets(0) ?? new Uint8Array() };
  }
  if (code !== CODE.transactional) return { kind: 'other' };
  const fields = new ListFields(value);
  const inner = readOutcome(fields.at(1));
  return {
    kind: 'transactional',
    transaction: fields.octets(0) ?? new Uint8Array(),
    ...(inner === undefined ? {} : { outcome: inner }),
  };
}

function readOutcome(value: AmqpValue | undefined): Outcome | undefined {
  if (value === undefined) return undefined;
  switch (codeOf(value)) {
    case CODE.accepted:
      return ACCEPTED;
    case CODE.released:
      return { kind: 'released' };
    case CODE.rejected: {
      const error = readError(new ListFields(value).at(0));
      return error === undefined ? { kind: 'rejected' } : { kind: 'rejected', error };
    }
    case CODE.modified: {
      const fields = new ListFields(value);
      const annotations = fields.at(2);
      return {
        kind: 'modified',
        deliveryFailed: fields.flag(0),
        undeliverableHere: fields.flag(1),
        ...(annotations === undefined ? {} : { annotations }),
      };
    }
    default:
      return undefined;
  }
}

/** Returns a delivery state as a value to encode. */
export function writeDeliveryState(state: DeliveryState): AmqpValue {
  switch (state.kind) {
    case 'accepted':
    case 'released':
      return described(CODE[state.kind], trimmed([]));
    case 'rejected':
      return described(
        CODE.rejected,
        trimmed([state.error === undefined ? undefined : writeError(state.error)]),
      );
    case 'modified':
      return described(
        CODE.modified,
        trimmed([
          state.deliveryFailed === undefined ? undefined : bool(state.deliveryFailed),
          state.undeliverableHere === undefined ? undefined : bool(state.undeliverableHere),
          state.annotations,
        ]),
      );
    case 'declared':
      return described(CODE.declared, trimmed([binary(state.transaction)]));
    case 'transactional':
      return described(
        CODE.transactional,
        trimmed([
          binary(state.transaction),
          state.outcome === undefined ? undefined : writeDeliveryState(state.outcome),
        ]),
      );
    case 'other':
      return { type: 'null' };
  }
}

/** Reads an error; undefined if the value is not an error. Throws DecodeError. */
export function readError(value: AmqpValue | undefined): ErrorInfo | undefined {
  if (codeOf(value) !== CODE.error || value === undefined) return undefined;
  const fields = new ListFields(value);
  const description = fields.text(1);
  const info = fields.at(2);
  return {
    condition: fields.text(0) ?? '',
    ...(description === undefined ? {} : { description }),
    ...(info === undefined ? {} : { info }),
  };
}

/** Returns an error as a value to encode, always with three fields: some clients read them by position. */
export function writeError({ condition, description, info }: ErrorInfo): AmqpValue {
  const text = description === undefined ? NULL : str(description);
  return described(CODE.error, list([symbol(condition), text, info ?? NULL]));
}
