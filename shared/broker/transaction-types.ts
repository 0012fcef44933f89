import type { EntityPath } from '../domain/entities/entity-path.ts';
import type { OutgoingMessage } from '../domain/messages/message.ts';
import type { Settlement } from './settlement-types.ts';

/** Operations that are carried out together. */
export interface Transaction {
  readonly operations: readonly TransactionOperation[];
  readonly identity?: TransactionIdentity;
}

/** Makes a transaction idempotent: it is carried out once, however often it is requested. */
export interface TransactionIdentity {
  readonly id: string;
  /** Equal for equal requests; another request under the same id is refused. */
  readonly fingerprint: string;
}

/** One operation of a transaction. */
export type TransactionOperation =
  | {
      readonly kind: 'send';
      readonly path: EntityPath;
      readonly messages: readonly OutgoingMessage[];
    }
  | {
      readonly kind: 'settle';
      readonly path: EntityPath;
      readonly settlement: Settlement;
      /** Required if the entity requires sessions. */
      readonly sessionId?: string | undefined;
    }
  | {
      readonly kind: 'renew';
      readonly path: EntityPath;
      readonly lockToken: string;
      /** Only for the right refusal: in a session no message's lock is renewed (semantics U13). */
      readonly sessionId?: string;
    };

/** The result of one operation of a transaction. */
export type OperationOutcome =
  /** Undefined for a message that was not stored under a number that the sender may see. */
  | { readonly kind: 'sent'; readonly sequenceNumbers: readonly (bigint | undefined)[] }
  | { readonly kind: 'settled' }
  /** Epoch ms. */
  | { readonly kind: 'renewed'; readonly lockedUntil: number };
