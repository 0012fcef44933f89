import { logOf } from '../../domain/blocks/log.ts';
import type { Receivable } from '../../domain/blocks/log-policy.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { present } from '../../domain/present.ts';
import type { ReceivedMessage, ReceiveOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable, requireNotForwarding, requireReceivable } from '../entity-lookup.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { receiveInSession, requireSessionFits } from '../sessions/session-operations.ts';
import { deadLetterLapsed } from './dead-letter-lapsed.ts';
import { PartitionedReceive } from './partitioned-receive.ts';
import { type Looked, ReceiveWait } from './receive-wait.ts';

/** How often a receive that waits on a dead-letter queue looks for new dead letters in the main queue. */
const DEAD_LETTER_CHECK_MS = 5000;

/** Receives messages, and waits for the first one if asked to; see `Broker.receive`. */
export async function receive(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const { session } = options;
  if (session !== undefined) return await receiveInSession(dependencies, path, options, session);
  const wait = new ReceiveWait(dependencies, options.waitMs, options.signal);
  const receiver = new Receiver(dependencies, path, options, wait);
  try {
    return (await wait.untilOver(() => receiver.look(), options.onWait)) ?? [];
  } finally {
    wait.end();
  }
}

/** One receive, which looks for messages again and again. */
class Receiver {
  readonly #dependencies: BrokerDependencies;
  readonly #path: EntityPath;
  readonly #options: ReceiveOptions;
  readonly #wait: ReceiveWait;
  readonly #partitions: PartitionedReceive;
  #checkAgainAt = 0;

  constructor(
    dependencies: BrokerDependencies,
    path: EntityPath,
    options: ReceiveOptions,
    wait: ReceiveWait,
  ) {
    this.#dependencies = dependencies;
    this.#path = path;
    this.#options = options;
    this.#wait = wait;
    this.#partitions = new PartitionedReceive(dependencies, path, options);
  }

  /** Claims messages once. */
  async look(): Promise<Looked<readonly ReceivedMessage[]>> {
    const { messages: store } = this.#dependencies;
    // Read again after each wait: the entity may have been changed, disabled or deleted meanwhile.
    const entity = await findReceivable(this.#dependencies, this.#path);
    requireReceivable(entity);
    requireNotForwarding(entity, this.#path.subQueue);
    requireSessionFits(entity, this.#path, undefined);
    const logs = partitionNumbers(entity).map((number) =>
      logOf(entity, this.#path.subQueue, number),
    );
    const isLast = !this.#wait.listen(logs);
    await this.#options.beforeAttempt?.();
    // The caller may have aborted meanwhile; then nothing may be claimed.
    if (this.#wait.isAborted) return { isOver: true, found: [] };
    const messages = await this.#claim(entity, isLast);
    // One message is enough: a receive does not wait for more (semantics #19).
    if (messages.length > 0 || isLast) return { isOver: true, found: messages };
    return {
      isOver: false,
      changes: this.#partitions.changes(entity),
      ...present({ emptyAt: earliest(logs.map((log) => store.emptyAt(log))) }),
    };
  }

  async #claim(entity: Receivable, isLast: boolean): Promise<readonly ReceivedMessage[]> {
    const { monotonicNow } = this.#dependencies;
    // The first and the last look ask all partitions; those in between ask some, round robin.
    const which = !this.#wait.hasPaused || isLast ? 'all' : 'some';
    let messages = await this.#partitions.claim(entity, which);
    if (messages.length === 0 && monotonicNow() >= this.#checkAgainAt) {
      const isMore = await deadLetterLapsed(this.#dependencies, entity, this.#path);
      // Not after a failure: an empty answer needs a check that succeeded.
      this.#checkAgainAt = monotonicNow() + DEAD_LETTER_CHECK_MS;
      if (isMore) messages = await this.#partitions.claim(entity, 'all');
    }
    // The claim may have dead-lettered messages, which the entity may forward.
    if (entity.description.forwardDeadLetteredMessagesTo !== undefined) {
      await tryForward(this.#dependencies, entity, this.#partitions.asked);
    }
    return messages;
  }
}

/** The earliest instant; undefined if one is. */
function earliest(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === instants.length ? Math.min(...known) : undefined;
}
