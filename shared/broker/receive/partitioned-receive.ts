import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { throwGravest } from '../../domain/broker-error.ts';
import { partitionNumbers, partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { ReceivedMessage, ReceiveOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { Allowance } from '../ports/messages.ts';
import { forwardTopicDue } from '../routing/forward-pending.ts';
import { claimOptions } from './receive-wait.ts';
import { SharedAllowance } from './shared-allowance.ts';

/** How many partitions are asked at the same time. */
const AT_ONCE = 4;
/** A receive that waits asks partitions without hints only if this time has passed since it last did. */
const SOME_EVERY_MS = 250;
/** It then asks the next `AT_ONCE` of them for each whole period of this length since then, and `AT_ONCE` at least. */
const ROUND_MS = 400;

const UNLIMITED = { bytes: Number.POSITIVE_INFINITY };

/** Which partitions without hints to ask: all of them, or a few, round robin. */
export type OtherPartitions = 'all' | 'some';

/**
 * Receives from the partitions of an entity, which are one queue to the client (semantics #P3). It asks partitions
 * with hints first, and others while nothing was found. All claims together take no more than one receive may take.
 */
export class PartitionedReceive {
  readonly #dependencies: BrokerDependencies;
  readonly #path: EntityPath;
  readonly #options: ReceiveOptions;
  readonly #asked = new Set<number>();
  /** When messages become available by time alone, as the last call of `changes` told, epoch ms by partition. */
  #changes: readonly number[] = [];
  /** When the next scheduled message of the topic above comes due, as the last claim saw it, epoch ms by partition. */
  readonly #topicDueAt = new Map<number, number>();
  /** The partition at which the next round of `some` starts, and when the last one was, monotonic ms. */
  #next: number;
  #someAt: number;

  constructor(dependencies: BrokerDependencies, path: EntityPath, options: ReceiveOptions) {
    this.#dependencies = dependencies;
    this.#path = path;
    this.#options = options;
    this.#next = dependencies.random.bytes(1)[0] ?? 0;
    this.#someAt = dependencies.monotonicNow();
  }

  /**
   * Claims messages once. A failure of one partition is thrown only if the others have no messages (semantics #P13).
   */
  async claim(entity: Receivable, which: OtherPartitions): Promise<readonly ReceivedMessage[]> {
    this.#asked.clear();
    if (partitionsOf(entity) === 1) return await this.#claimFrom(entity, 0);
    const { maxMessages, answer = UNLIMITED } = this.#options;
    const look: Look = {
      entity,
      allowance: new SharedAllowance(maxMessages, LIMITS.receiveBytes, answer.bytes),
      found: [],
      passedOver: [],
      failures: [],
    };
    const { likely, others } = this.#order(entity);
    // One partition that was not asked for some time goes with the first, so that none is forgotten while others
    // always have enough messages.
    const overdue = others.filter((partition) => this.#isOverdue(entity, partition)).slice(0, 1);
    if (likely.length > 0) await this.#ask(look, [...likely.slice(0, 1), ...overdue]);
    await this.#askOn(look, likely.slice(1), () => look.allowance.left > 0);
    const left = others.filter((partition) => !this.#asked.has(partition));
    const rest = which === 'all' ? left : this.#someOf(left, partitionsOf(entity));
    const isEmpty = () => look.found.length === 0;
    await this.#askOn(look, rest, isEmpty);
    // A partition that had to leave its messages is asked again if the one preferred to it lost its race.
    for (const partition of [...look.passedOver]) {
      if (isEmpty()) await this.#ask(look, [partition]);
    }
    if (isEmpty()) throwGravest(look.failures);
    return look.found;
  }

  /**
   * When messages become available by time alone in each partition, as far as this process knows: a lock ends, or a
   * scheduled message comes due. Epoch ms; Infinity = no such instant is known. The next claim asks the partitions in
   * which that instant has come.
   */
  changes(entity: Receivable): readonly number[] {
    const { subQueue } = this.#path;
    this.#changes = partitionNumbers(entity).map((partition) => {
      const policy = policyOf(entity, subQueue, partition);
      const inLog = this.#dependencies.messages.changesAt(
        logOf(entity, subQueue, partition),
        policy,
      );
      return Math.min(inLog, this.#topicDueAt.get(partition) ?? Number.POSITIVE_INFINITY);
    });
    return this.#changes;
  }

  #hasChanged(partition: number): boolean {
    const changesAt = this.#changes[partition];
    return changesAt !== undefined && changesAt <= this.#dependencies.clock.now();
  }

  /** The partitions that the last claim asked. */
  get asked(): readonly number[] {
    return [...this.#asked];
  }

  /** Partitions with hints or changes, and the others, each from a random start, so that none is always first. */
  #order(entity: Receivable): { readonly likely: number[]; readonly others: number[] } {
    const numbers = partitionNumbers(entity);
    const start = (this.#dependencies.random.bytes(1)[0] ?? 0) % numbers.length;
    const turned = [...numbers.slice(start), ...numbers.slice(0, start)];
    const isLikely = (partition: number) =>
      this.#hasChanged(partition) ||
      this.#dependencies.partitionHints.mayHaveMessages(
        logOf(entity, this.#path.subQueue, partition),
      );
    return {
      likely: turned.filter(isLikely),
      others: turned.filter((partition) => !isLikely(partition)),
    };
  }

  #isOverdue(entity: Receivable, partition: number): boolean {
    return this.#dependencies.partitionHints.isDueForLook(
      logOf(entity, this.#path.subQueue, partition),
    );
  }

  /** The next few of `partitions`, of which the entity has `count` in all: each has its turn. */
  #someOf(partitions: readonly number[], count: number): readonly number[] {
    const now = this.#dependencies.monotonicNow();
    const passed = now - this.#someAt;
    if (passed < SOME_EVERY_MS) return [];
    this.#someAt = now;
    const many = AT_ONCE * Math.max(1, Math.floor(passed / ROUND_MS));
    const first = this.#next % count;
    this.#next = first + many;
    return partitions.filter((partition) => (partition + count - first) % count < many);
  }

  async #askOn(look: Look, partitions: readonly number[], goesOn: () => boolean): Promise<void> {
    for (let i = 0; i < partitions.length && goesOn(); i += AT_ONCE) {
      await this.#ask(look, partitions.slice(i, i + AT_ONCE));
    }
  }

  async #ask(look: Look, partitions: readonly number[]): Promise<void> {
    const { partitionHints } = this.#dependencies;
    await Promise.all(
      partitions.map(async (partition) => {
        const log = logOf(look.entity, this.#path.subQueue, partition);
        const looked = partitionHints.beginLook(log);
        let isMore = false;
        const allowance: Allowance = {
          take: (messages, ...bytes) => {
            const allowed = look.allowance.take(messages, ...bytes);
            isMore ||= allowed < messages;
            return allowed;
          },
          giveBack: (...left) => look.allowance.giveBack(...left),
        };
        try {
          const messages = await this.#claimFrom(look.entity, partition, {
            left: look.allowance.left,
            allowance,
          });
          look.found.push(...messages);
          looked(isMore || messages.length > 0);
          if (isMore && messages.length === 0) look.passedOver.push(partition);
        } catch (error) {
          look.failures.push({ error });
          looked(false);
        }
      }),
    );
  }

  async #claimFrom(
    entity: Receivable,
    partition: number,
    share?: { readonly left: number; readonly allowance: Allowance },
  ): Promise<readonly ReceivedMessage[]> {
    const { subQueue } = this.#path;
    const options = claimOptions(this.#options);
    this.#asked.add(partition);
    const dueAt = await forwardTopicDue(this.#dependencies, this.#path, partition);
    if (subQueue === 'main') this.#topicDueAt.set(partition, dueAt);
    return await this.#dependencies.messages.claim(logOf(entity, subQueue, partition), {
      ...policyOf(entity, subQueue, partition),
      ...options,
      maxMessages: share?.left ?? options.maxMessages,
      lockMs: entity.description.lockMs,
      allowance: share?.allowance,
    });
  }
}

/** The state of one claim over several partitions. */
interface Look {
  readonly entity: Receivable;
  readonly allowance: SharedAllowance;
  readonly found: ReceivedMessage[];
  /** Partitions that had messages when the allowance was used up. */
  readonly passedOver: number[];
  readonly failures: { readonly error: unknown }[];
}
