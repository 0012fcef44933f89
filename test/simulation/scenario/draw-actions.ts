import type { ProcessSpec } from '../machines/process.ts';
import type { Random } from '../machines/random.ts';
import {
  type Action,
  COLOURS,
  DEAD_LETTERS,
  type MessageSpec,
  type QueueSpec,
  type ReceivableSpec,
  type Scenario,
  type SettlementKind,
  type TopicSpec,
} from './scenario.ts';

const WIDE = 150;
const SESSIONS = ['a', 'b', 'c'] as const;

/** Draws actions that fit the entities. */
export class ActionDrawer {
  readonly #random: Random;
  readonly #processes: readonly ProcessSpec[];
  readonly #senders: readonly (QueueSpec | TopicSpec)[];
  readonly #receivers: readonly ReceivableSpec[];
  readonly #weights: Readonly<Record<Action['kind'], number>>;
  readonly #settlements: Readonly<Record<SettlementKind, number>>;
  readonly #isBulky: boolean;
  /** Whether messages have so many sessions that one send needs several database transactions. */
  readonly #isWide: boolean;
  /** The share of receive-and-delete: if its answers are lost, the checks can say little about a queue. */
  readonly #removals: number;
  /** The share of receives that are aborted, most of them while a request is under way. */
  readonly #aborts: number;
  #tags = 0;

  constructor(random: Random, { processes, entities }: Pick<Scenario, 'processes' | 'entities'>) {
    this.#random = random;
    this.#processes = processes;
    this.#senders = entities.filter((entity) => entity.kind !== 'subscription');
    this.#receivers = entities
      .filter((entity) => entity.kind !== 'topic')
      .filter(({ forwardTo }) => forwardTo === undefined);
    const some = (weight: number) => (random.chance(0.5) ? 0 : weight);
    const rare = (weight: number) => (random.chance(0.85) ? 0 : weight);
    const hasSessions = this.#receivers.some(({ requiresSession }) => requiresSession);
    this.#weights = {
      send: 25,
      receive: 30,
      settle: 25,
      renew: some(4),
      accept: hasSessions ? 14 : 0,
      renewSession: hasSessions ? some(3) : 0,
      releaseSession: hasSessions ? 5 : 0,
      setState: hasSessions ? some(3) : 0,
      readState: hasSessions ? some(3) : 0,
      listSessions: hasSessions ? some(2) : 0,
      peek: some(4),
      receiveDeferred: some(6),
      cancel: some(3),
      transact: some(hasSessions ? 16 : 8),
      operate: rare(4),
      deleteMessages: rare(2),
      resubmit: rare(4),
      purge: rare(2),
      update: rare(3),
      recreate: rare(2),
      sweep: 2,
    };
    this.#settlements = { complete: 12, abandon: some(8), defer: some(5), deadLetter: some(5) };
    this.#removals = random.pick([0, 0, 0.2, 0.5]);
    this.#aborts = random.pick([0, 0.05, 0.3]);
    this.#isBulky = random.chance(0.1);
    this.#isWide = this.#isBulky && random.chance(0.4);
  }

  /** Draws an action of a kind, by default of any. */
  draw(kind: Action['kind'] = this.#random.weighted(this.#weights)): Action {
    const random = this.#random;
    const from = this.#from();
    switch (kind) {
      case 'send':
        return { kind, ...this.#sending() };
      case 'receive':
        return {
          kind,
          from,
          mode: random.chance(this.#removals) ? 'receiveAndDelete' : 'peekLock',
          max: random.pick([1, 1, 1, 2, 2, 5, 5, 100]),
          waitMs: random.pick([0, 0, 0, 0, 0, 0, 500, 500, 3000, 20_000]),
          ...(random.chance(this.#aborts)
            ? {
                abortAfterMs: random.chance(0.8) ? random.between(1, 30) : random.pick([100, 1000]),
              }
            : {}),
        };
      case 'settle':
        return {
          kind,
          from,
          how: random.weighted(this.#settlements),
          which: random.weighted({ oldest: 6, newest: 3, spent: 1 }),
          count: random.pick([1, 1, 1, 3, 100]),
          ...(random.chance(0.1) ? { delayMs: random.pick([1000, 7000]) } : {}),
          changesProperties: random.chance(0.1),
        };
      case 'renew':
        return {
          kind,
          from,
          which: random.weighted({ oldest: 5, spent: 1 }),
          count: random.pick([1, 5]),
        };
      case 'accept':
        return {
          kind,
          from: this.#main(),
          ...(random.chance(0.4) ? { sessionId: random.pick(SESSIONS) } : {}),
          waitMs: random.pick([0, 0, 2000, 10_000]),
        };
      case 'renewSession':
      case 'releaseSession':
      case 'readState':
      case 'listSessions':
        return { kind, from: this.#main() };
      case 'setState':
        return { kind, from: this.#main(), state: `state${random.below(100)}` };
      case 'peek':
        return {
          kind,
          from,
          max: random.pick([1, 10, 250]),
          ...(random.chance(0.5) ? { sessionId: random.pick(SESSIONS) } : {}),
        };
      case 'receiveDeferred':
        return {
          kind,
          from: this.#main(),
          mode: random.chance(this.#removals) ? 'receiveAndDelete' : 'peekLock',
          count: random.pick([1, 1, 3]),
        };
      case 'cancel':
        return { kind, to: random.pick(this.#senders).path, count: random.pick([1, 2]) };
      case 'transact':
        return {
          kind,
          ...(random.chance(0.8) ? { from } : {}),
          how: random.weighted(this.#settlements),
          count: random.pick([1, 1, 3]),
          sends: Array.from({ length: random.pick([0, 1, 1, 2]) }, () => this.#sending()),
          ...(random.chance(0.7) ? this.#identity() : {}),
        };
      case 'operate':
        return {
          kind,
          from,
          what: random.pick(['breakLock', 'reactivate', 'delete', 'deadLetter']),
          count: random.pick([1, 3]),
        };
      case 'deleteMessages':
        return { kind, from, max: random.pick([1, 10]) };
      case 'resubmit':
        return { kind, from: this.#main() + DEAD_LETTERS, max: random.pick([1, 10]) };
      case 'purge':
        return { kind, from };
      case 'update':
        return { kind, entity: this.#main(), lockMs: random.pick([5000, 6000, 20_000]) };
      case 'recreate':
        return { kind, entity: this.#main() };
      case 'sweep':
        return { kind };
    }
  }

  /** An id, and attempts under it that mostly come before the locks of the first one have ended, or after. */
  #identity() {
    const random = this.#random;
    const repeats = Array.from({ length: random.pick([1, 1, 3]) }, () => ({
      afterMs: random.pick([0, 1000, 6000, 6000, 12_000]),
      process: random.pick(this.#processes).name,
    }));
    return { identity: `transaction${random.below(1e9)}`, repeats };
  }

  #main(): string {
    return this.#random.pick(this.#receivers).path;
  }

  #from(): string {
    const main = this.#main();
    return this.#random.chance(0.12) && !this.#forwardsDeadLetters(main)
      ? main + DEAD_LETTERS
      : main;
  }

  #forwardsDeadLetters(path: string): boolean {
    return this.#receivers.some(
      (one) => one.path === path && one.forwardDeadLettersTo !== undefined,
    );
  }

  #sending(): { readonly to: string; readonly messages: readonly MessageSpec[] } {
    const random = this.#random;
    const to = random.pick(this.#senders);
    const isWide = this.#isWide && to.kind === 'topic';
    const count = random.pick(
      isWide ? [1, 1, 140] : this.#isBulky ? [1, 1, 10, 100] : [1, 1, 1, 2, 5],
    );
    const messages = Array.from({ length: count }, () => this.#message(to));
    if (!to.partitioned || count === 1) return { to: to.path, messages };
    // A batch goes to one partition, so all of its messages have one key.
    const { sessionId } = messages[0] ?? {};
    const key = sessionId === undefined ? { partitionKey: random.pick(SESSIONS) } : { sessionId };
    return { to: to.path, messages: messages.map((message) => ({ ...message, ...key })) };
  }

  #message(to: QueueSpec | TopicSpec): MessageSpec {
    const random = this.#random;
    const isWide = this.#isWide && to.kind === 'topic';
    const sessionId = isWide ? `w${random.below(WIDE)}` : random.pick(SESSIONS);
    return {
      tag: `m${this.#tags++}`,
      bytes: random.weighted({ small: 30, large: this.#isBulky ? 3 : 1 }) === 'large' ? 3000 : 10,
      colour: random.pick(COLOURS),
      ...this.#session(to, sessionId),
      ...(to.detectionMs === undefined ? {} : { messageId: `id${random.below(8)}` }),
      ...(random.chance(0.05) ? { timeToLiveMs: random.pick([1000, 8000]) } : {}),
      ...(random.chance(0.08) ? { delayMs: random.pick([500, 3000, 15_000]) } : {}),
    };
  }

  /** A session id for entities that may require sessions; for others sometimes a partition key. */
  #session(to: QueueSpec | TopicSpec, sessionId: string) {
    const random = this.#random;
    if (to.kind === 'topic' || to.requiresSession) return { sessionId };
    return to.partitioned && random.chance(0.5) ? { partitionKey: random.pick(SESSIONS) } : {};
  }
}
