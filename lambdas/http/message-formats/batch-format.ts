import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { tooLarge } from '../../../shared/domain/messages/outgoing-rules.ts';
import type { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { BATCH_CONTENT_TYPE, isBatchContentType, parseBatch } from '../format/batch-format.ts';
import { type BodyAccount, type BodyLimit, jsonLimit } from '../routing/request-body.ts';
import { exactLimit, readExactBatch } from './exact-batch.ts';
import { EXACT_CONTENT_TYPE, isExactContentType } from './exact-type.ts';

/** A format of several messages in the body of a request; its Content-Type chooses it. */
export interface BatchFormat {
  readonly contentType: string;
  /** The limit of a body for an entity whose messages may have `messageBytes`. */
  limit(messageBytes: number): BodyLimit;
  /** Parses a body and counts the memory of its messages. Throws ArgumentError, InvalidOperation, ServiceBusy. */
  parse(body: Uint8Array, account: BodyAccount): readonly OutgoingMessage[];
}

/** The batch of the vendor's REST API. */
export const JSON_BATCH: BatchFormat = {
  contentType: BATCH_CONTENT_TYPE,
  limit(messageBytes) {
    const { batchBytes, batchBytesPerByte, batchExtraBytes } = BUDGETS.request;
    const batchBytesMax = Math.max(messageBytes, LIMITS.batchBytes);
    const bytes = Math.min(batchBytes, batchBytesPerByte * batchBytesMax + batchExtraBytes);
    const tooLong = (length: number) => tooLarge('batch', length, bytes);
    return { ...jsonLimit(bytes), tooLong };
  },
  parse(body, account) {
    const messages = parseBatch(body);
    // They take more memory than their bytes: a message of ten bytes may take a thousand until it is stored.
    account.hold(messages.length * BUDGETS.weights.sentMessageBytes);
    return messages;
  },
};

const EXACT_BATCH: BatchFormat = {
  contentType: EXACT_CONTENT_TYPE,
  limit: exactLimit,
  parse: readExactBatch,
};

/** The format of a body with several messages; undefined for a Content-Type of one message. */
export function batchFormatOf(contentType: string | null): BatchFormat | undefined {
  if (isExactContentType(contentType)) return EXACT_BATCH;
  return isBatchContentType(contentType) ? JSON_BATCH : undefined;
}

/**
 * Parses a batch, and waits for a turn of the event loop to send many messages, which takes about as long as parsing
 * them. Throws as `BatchFormat.parse`.
 */
export async function readBatchBody(
  format: BatchFormat,
  body: Uint8Array,
  account: BodyAccount,
  {
    workTurns,
    request,
  }: { readonly workTurns: Pick<WorkTurns, 'next'>; readonly request: Request },
): Promise<readonly OutgoingMessage[]> {
  const messages = format.parse(body, account);
  if (messages.length > BUDGETS.request.turnMessages) await workTurns.next(request);
  return messages;
}
