import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import { type LogPolicy, policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, invalidOperation } from '../../domain/broker-error.ts';
import {
  type Entity,
  forwardsMessages,
  isOfKind,
  partitionsOf,
} from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { DeferredOptions, OperatorAction, ReceivedMessage } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import {
  findEntity,
  findReceivable,
  requireNotForwarding,
  requireReceivable,
} from '../entity-lookup.ts';
import { forwardDue, tryForward } from '../routing/forward-pending.ts';
import {
  heldSession,
  requireSessionFits,
  sessionLog,
  sessionPolicy,
} from '../sessions/session-operations.ts';
import { requireAction } from '../settle/settlement-rules.ts';

/** Operations on messages by sequence number. */

/** Receives deferred messages; see `Broker.receiveDeferred`. */
export async function receiveDeferred(
  dependencies: BrokerDependencies,
  path: EntityPath,
  { mode, sequenceNumbers, session, answer, payloads }: DeferredOptions,
): Promise<readonly ReceivedMessage[]> {
  const entity = await findReceivable(dependencies, path);
  requireReceivable(entity);
  requireNotForwarding(entity, path.subQueue);
  requireSessionFits(entity, path, session?.sessionId);
  const { log, sequences } = inOnePartition(entity, path, sequenceNumbers);
  // Only the holder of a session receives its deferred messages (semantics S7).
  const held = session && (await heldSession(dependencies, entity, path, session));
  if (held !== undefined && held.log.partition !== log.partition) throw notInSession();
  return await dependencies.messages.receiveDeferred(held?.log ?? log, {
    ...(held?.policy ?? policyOf(entity, path.subQueue, log.partition)),
    mode,
    lockMs: entity.description.lockMs,
    answer,
    payloads,
    sequences,
  });
}

/** Cancels scheduled messages, which is a use of their entity (semantics V5); see `Broker.cancelScheduled`. */
export async function cancelScheduled(
  dependencies: BrokerDependencies,
  path: EntityPath,
  sequenceNumbers: readonly bigint[],
): Promise<void> {
  // Scheduled messages of a topic wait in the topic, not in its subscriptions.
  const entity = await findEntity(dependencies, path);
  if (isOfKind(entity, 'subscription')) {
    throw invalidOperation('Messages are scheduled at the topic, not here.');
  }
  dependencies.activity.used(entity);
  const { log, sequences } = inOnePartition(entity, path, sequenceNumbers);
  // A message that is due can no longer be cancelled.
  if (isOfKind(entity, 'topic')) await forwardDue(dependencies, entity, log.partition);
  else await dependencies.messages.activateDue(log);
  if (forwardsMessages(entity)) await tryForward(dependencies, entity, [log.partition]);
  await dependencies.messages.cancelScheduled(log, sequences);
}

/** Carries out an operator's action on single messages; see `Broker.operate`. */
export async function operate(
  dependencies: BrokerDependencies,
  path: EntityPath,
  operation: OperatorAction,
  sequenceNumbers: readonly bigint[],
  sessionId?: string,
): Promise<readonly boolean[]> {
  requireNumbers(sequenceNumbers);
  if (operation.kind === 'deadLetter') requireAction(path, operation);
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, sessionId);
  const outcomes: boolean[] = [];
  const touched = new Set<number>();
  // One after the other, since changes to messages of one block conflict.
  for (const number of sequenceNumbers) {
    const { partition, sequence } = splitSequenceNumber(number);
    const isKnown = partition < partitionsOf(entity);
    if (isKnown) touched.add(partition);
    const place = { partition, sequence, sessionId };
    const work = async () =>
      isKnown && (await operateOne(dependencies, entity, path, operation, place));
    outcomes.push(await orPartlyDone(outcomes, work));
  }
  await orPartlyDone(outcomes, () => tryForward(dependencies, entity, [...touched]));
  return outcomes;
}

/** Turns a refusal into ServiceTimeout once an earlier action was done, since a refusal says that nothing was. */
async function orPartlyDone<Value>(
  outcomes: readonly boolean[],
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BrokerError) || !outcomes.includes(true)) throw error;
    throw new BrokerError(
      'ServiceTimeout',
      'The operation was carried out for some of the messages. It is not known whether it was for the others.',
      { cause: error, subCode: '50400' },
    );
  }
}

async function operateOne(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
  operation: OperatorAction,
  { partition, sequence, sessionId }: MessagePlace,
): Promise<boolean> {
  const { messages } = dependencies;
  const { log, policy } = await logAt(dependencies, entity, path, partition, sessionId);
  switch (operation.kind) {
    case 'breakLock':
      return await messages.breakLock(log, sequence, policy);
    case 'reactivate':
      return await messages.reactivate(log, sequence, policy);
    case 'delete':
      return await messages.remove(log, sequence, policy);
    case 'deadLetter':
      return await messages.deadLetter(log, sequence, operation, policy);
  }
}

interface MessagePlace {
  readonly partition: number;
  readonly sequence: bigint;
  readonly sessionId: string | undefined;
}

async function logAt(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
  partition: number,
  sessionId: string | undefined,
): Promise<{ readonly log: Log; readonly policy: LogPolicy }> {
  if (sessionId === undefined) {
    const log = logOf(entity, path.subQueue, partition);
    return { log, policy: policyOf(entity, path.subQueue, partition) };
  }
  // If the number is one of another partition than the session's, no message of the session is found there.
  const log = { ...sessionLog(entity, sessionId), partition };
  return { log, policy: sessionPolicy(entity, log, await dependencies.sessions.lockState(log)) };
}

function notInSession(): BrokerError {
  return new BrokerError('MessageNotFound', 'The session has no such message.');
}

/** The partition of sequence numbers that are handled all or none (semantics #68). */
function inOnePartition(
  entity: Entity,
  path: EntityPath,
  sequenceNumbers: readonly bigint[],
): { readonly log: Log; readonly sequences: readonly bigint[] } {
  requireNumbers(sequenceNumbers);
  const split = sequenceNumbers.map(splitSequenceNumber);
  const unknown = split.findIndex(({ partition }) => partition >= partitionsOf(entity));
  if (unknown >= 0) {
    throw new BrokerError(
      'MessageNotFound',
      `The message with sequence number ${sequenceNumbers[unknown]} could not be found.`,
    );
  }
  const partition = split[0]?.partition ?? 0;
  if (split.some((number) => number.partition !== partition)) {
    throw invalidOperation(
      'ReceiveBatch of sequence numbers from different partitions is not supported for an entity with partitioning enabled.',
    );
  }
  return {
    log: logOf(entity, path.subQueue, partition),
    sequences: split.map(({ sequence }) => sequence),
  };
}

function requireNumbers(sequenceNumbers: readonly bigint[]): void {
  const { length } = sequenceNumbers;
  if (length === 0 || length > LIMITS.sequenceNumbers) {
    throw new BrokerError(
      'ArgumentError',
      `One to ${LIMITS.sequenceNumbers} sequence numbers can be named at once, not ${length}.`,
    );
  }
  if (new Set(sequenceNumbers).size < length) {
    throw new BrokerError('ArgumentError', 'Each sequence number can be named once.');
  }
  if (sequenceNumbers.some((number) => number < 0n)) {
    throw new BrokerError('ArgumentError', 'Sequence numbers are not negative.');
  }
}
