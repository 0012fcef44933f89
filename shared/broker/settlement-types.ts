import type { Properties } from '../domain/messages/property-value.ts';

/** What to do with a locked message. */
export type SettlementAction =
  | { readonly kind: 'complete' }
  | AbandonAction
  | { readonly kind: 'defer'; readonly properties?: Properties }
  | DeadLetterAction;

/** Unlocks the message. */
export interface AbandonAction {
  readonly kind: 'abandon';
  /** Makes the message available only after this many ms. */
  readonly delayMs?: number;
  /** Properties to set; the message keeps its others. */
  readonly properties?: Properties;
  /** The delivery does not count, because the receiver did not process the message. */
  readonly isUncounted?: true;
}

/** Moves the message into the dead-letter queue. */
export interface DeadLetterAction {
  readonly kind: 'deadLetter';
  readonly reason?: string;
  readonly description?: string;
  readonly properties?: Properties;
}

/** The settlement of one message. */
export interface Settlement {
  readonly lockToken: string;
  readonly action: SettlementAction;
}
