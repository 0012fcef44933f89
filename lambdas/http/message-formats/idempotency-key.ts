import { createHash } from 'node:crypto';
import type { Broker, TransactionIdentity } from '../../../shared/broker/broker.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { argumentError, BrokerError } from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { decodeHeader } from '../format/header-text.ts';
import { requireWellFormed } from '../format/well-formed-text.ts';

const HEADER = 'idempotency-key';

/** The messages of one request, as its key identifies them. */
export interface KeyedSend {
  readonly path: EntityPath;
  readonly messages: readonly OutgoingMessage[];
  /** The parts of the request that must be equal in each repetition; the path is one of them anyway. */
  readonly parts: readonly (string | Uint8Array)[];
}

/** The `Idempotency-Key` of a request; undefined where it has none. Throws ArgumentError. */
export function idempotencyKeyOf(headers: Headers): string | undefined {
  const header = headers.get(HEADER);
  if (header === null) return undefined;
  const key = requireWellFormed(decodeHeader(header), 'The Idempotency-Key');
  if (key.length >= 1 && key.length <= LIMITS.idLength) return key;
  throw argumentError(
    `The Idempotency-Key is ${key.length} characters long; it has 1 to ${LIMITS.idLength}.`,
  );
}

/**
 * Sends messages once, however often the request is repeated with this key: as a transaction with one send under the
 * key as its id (semantics H24). Returns the sequence numbers. Throws as `Broker.transact`.
 */
export async function sendOnce(
  broker: Pick<Broker, 'transact'>,
  key: string,
  { path, messages, parts }: KeyedSend,
): Promise<readonly { readonly sequenceNumber?: bigint | undefined }[]> {
  const identity: TransactionIdentity = { id: key, fingerprint: fingerprintOf(path, parts) };
  const operations = [{ kind: 'send', path, messages }] as const;
  const [outcome] = await broker.transact({ operations, identity }).catch(withoutOperation);
  assert(outcome?.kind === 'sent', 'the only operation is a send');
  return outcome.sequenceNumbers.map((sequenceNumber) => ({ sequenceNumber }));
}

/** SHA-256 of the path and of the parts, each after its length. */
function fingerprintOf({ key }: EntityPath, parts: KeyedSend['parts']): string {
  const hash = createHash('sha256');
  for (const part of ['send', key, ...parts]) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    hash.update(`${bytes.byteLength}:`).update(bytes);
  }
  return hash.digest('base64url');
}

/** The client sent no operations, so its error names none. */
function withoutOperation(error: unknown): never {
  if (!(error instanceof BrokerError)) throw error;
  const { code, message, subCode } = error;
  throw new BrokerError(code, message, { cause: error, subCode });
}
