import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { BrokerError, unknownOutcome } from '../../domain/broker-error.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { OperationOutcome, TransactionOperation } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findEntity } from '../entity-lookup.ts';

/**
 * Completes a transaction whose stored outcomes answer a repeated request: the process that wrote it may have ended
 * before it noted the due times of scheduled messages a second time, as each send does. Nothing for messages that were
 * not scheduled; otherwise up to three write units for each partition they were sent to. A failure becomes
 * ServiceTimeout, because a refusal would say that the transaction was not carried out.
 */
export async function completeAnswered(
  dependencies: BrokerDependencies,
  operations: readonly TransactionOperation[],
  outcomes: readonly OperationOutcome[],
): Promise<void> {
  const sends = operations.flatMap((operation, i) => {
    const outcome = outcomes[i];
    if (operation.kind !== 'send' || outcome?.kind !== 'sent') return [];
    return [{ path: operation.path, dues: earliestDues(operation.messages, outcome) }];
  });
  await Promise.all(sends.map(({ path, dues }) => noteDues(dependencies, path, dues)));
}

type Sent = Extract<OperationOutcome, { kind: 'sent' }>;
type Scheduled = Extract<TransactionOperation, { kind: 'send' }>['messages'];

/** The earliest due time of the scheduled messages in each partition, epoch ms. */
function earliestDues(messages: Scheduled, { sequenceNumbers }: Sent): ReadonlyMap<number, number> {
  const dues = new Map<number, number>();
  for (const [i, { scheduledEnqueueAt: dueAt }] of messages.entries()) {
    const number = sequenceNumbers[i];
    if (dueAt === undefined || number === undefined) continue;
    const { partition } = splitSequenceNumber(number);
    dues.set(partition, Math.min(dueAt, dues.get(partition) ?? dueAt));
  }
  return dues;
}

async function noteDues(
  dependencies: BrokerDependencies,
  path: EntityPath,
  dues: ReadonlyMap<number, number>,
): Promise<void> {
  if (dues.size === 0) return;
  try {
    const entity = await findEntity(dependencies, path);
    await Promise.all(
      Array.from(dues, ([partition, dueAt]) =>
        dependencies.messages.noteDue(logOf(entity, 'main', partition), dueAt),
      ),
    );
  } catch (error) {
    // The entity was deleted since, with its messages.
    if (error instanceof BrokerError && error.code === 'MessagingEntityNotFound') return;
    throw error instanceof BrokerError ? unknownOutcome(error) : error;
  }
}
