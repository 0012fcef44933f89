import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { partitionNumbers, partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { ReceivedMessage, ReceiveOptions } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';
import type { Allowance } from '../ports/messages.ts';
import { forwardTopicDue } from '../routing/forward-pending.ts';
import { isWanted } from './receive-wait.ts';
import { SharedAllowance } from './shared-allowance.ts';

/** So many partitions are asked side by side. */
const AT_ONCE = 4;
/** Whoever is woken more often than this looks only where something came in. */
const SOME_EVERY_MS = 250;
/** In each such time that has passed so many partitions have had their turn. */
const TURN_MS = 400;

const UNLIMITED = { bytes: Number.POSITIVE_INFINITY };

/** Which partitions a look asks besides those where this process believes that there is something. */
export type Breadth = 'all' | 'some';

/**
 * The looks of one receive at the partitions of its entity, which together are one queue to the
 * client (semantics §8-4). Partitions in which messages came in or were found are asked first, the
 * others while nothing was found; never more is claimed than one receive may have.
 */
export class Gathering {
  readonly #parts: BrokerParts;
  readonly #path: EntityPath;
  readonly #options: ReceiveOptions;
  readonly #asked = new Set<number>();
  /** Where the next look that asks only some goes on, and when the last one was, monotonic ms. */
  #next: number;
  #someAt: number;

  constructor(parts: BrokerParts, path: EntityPath, options: ReceiveOptions) {
    this.#parts = parts;
    this.#path = path;
    this.#options = options;
    this.#next = parts.random.bytes(1)[0] ?? 0;
    this.#someAt = parts.monotonicNow();
  }

  /** One look. What fails in a partition is thrown only where the others gave nothing. */
  async look(entity: Receivable, breadth: Breadth): Promise<readonly ReceivedMessage[]> {
    this.#asked.clear();
    if (partitionsOf(entity) === 1) return await this.#claim(entity, 0);
    const { maxMessages, answer = UNLIMITED } = this.#options;
    const look: Look = {
      entity,
      allowance: new SharedAllowance(maxMessages, LIMITS.receiveBytes, answer.bytes),
      found: [],
      passedOver: [],
      failures: [],
    };
    const { likely, others } = this.#order(entity);
    // A partition nobody has asked for a while, beside the first: so none is forgotten where others
    // always have enough.
    const overdue = others.filter((partition) => this.#isOverdue(entity, partition)).slice(0, 1);
    if (likely.length > 0) await this.#ask(look, [...likely.slice(0, 1), ...overdue]);
    await this.#askOn(look, likely.slice(1), () => look.allowance.left > 0);
    const left = others.filter((partition) => !this.#asked.has(partition));
    const rest = breadth === 'all' ? left : this.#someOf(left, partitionsOf(entity));
    const isInVain = () => look.found.length === 0;
    await this.#askOn(look, rest, isInVain);
    // Where the one that was let go first lost its message to somebody else.
    for (const partition of [...look.passedOver]) {
      if (isInVain()) await this.#ask(look, [partition]);
    }
    const [failure] = look.failures;
    if (isInVain() && failure !== undefined) throw failure.error;
    return look.found;
  }

  /** The partitions that the last look asked. */
  get asked(): readonly number[] {
    return [...this.#asked];
  }

  /** Each from a random place on, so that no partition is always served first. */
  #order(entity: Receivable): { readonly likely: number[]; readonly others: number[] } {
    const numbers = partitionNumbers(entity);
    const start = (this.#parts.random.bytes(1)[0] ?? 0) % numbers.length;
    const turned = [...numbers.slice(start), ...numbers.slice(0, start)];
    const isLikely = (partition: number) =>
      this.#parts.whereabouts.isLikely(logOf(entity, this.#path.subQueue, partition));
    return {
      likely: turned.filter(isLikely),
      others: turned.filter((partition) => !isLikely(partition)),
    };
  }

  #isOverdue(entity: Receivable, partition: number): boolean {
    return this.#parts.whereabouts.isOverdue(logOf(entity, this.#path.subQueue, partition));
  }

  /** Of these, the next few of all that there are: each has its turn after so many looks. */
  #someOf(partitions: readonly number[], count: number): readonly number[] {
    const now = this.#parts.monotonicNow();
    const passed = now - this.#someAt;
    if (passed < SOME_EVERY_MS) return [];
    this.#someAt = now;
    const many = AT_ONCE * Math.max(1, Math.floor(passed / TURN_MS));
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
    const { whereabouts } = this.#parts;
    await Promise.all(
      partitions.map(async (partition) => {
        const log = logOf(look.entity, this.#path.subQueue, partition);
        const looked = whereabouts.beginLook(log);
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
          const messages = await this.#claim(look.entity, partition, {
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

  async #claim(
    entity: Receivable,
    partition: number,
    share?: { readonly left: number; readonly allowance: Allowance },
  ): Promise<readonly ReceivedMessage[]> {
    const { subQueue } = this.#path;
    const { mode, maxMessages, answer, payloads, turn } = this.#options;
    this.#asked.add(partition);
    await forwardTopicDue(this.#parts, this.#path, partition);
    return await this.#parts.messages.claim(logOf(entity, subQueue, partition), {
      ...policyOf(entity, subQueue, partition),
      mode,
      maxMessages: share?.left ?? maxMessages,
      maxBytes: LIMITS.receiveBytes,
      lockMs: entity.description.lockMs,
      ...(answer === undefined ? {} : { answer }),
      ...(payloads === undefined ? {} : { payloads }),
      ...(turn === undefined ? {} : { turn }),
      isWanted: () => isWanted(this.#options),
      ...(share === undefined ? {} : { allowance: share.allowance }),
    });
  }
}

/** What one look has come to. */
interface Look {
  readonly entity: Receivable;
  readonly allowance: SharedAllowance;
  readonly found: ReceivedMessage[];
  /** Partitions that had something, of which nothing was allowed any more. */
  readonly passedOver: number[];
  readonly failures: { readonly error: unknown }[];
}
