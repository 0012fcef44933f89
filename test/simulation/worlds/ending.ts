import type { ReceivedMessage, SessionLock } from '../../../shared/broker/broker.ts';
import { pathOf } from './caller.ts';
import { checkHistory } from './checks/check.ts';
import type { History } from './history.ts';
import { TABLES, type WorldProcess } from './process.ts';
import { type SentRequest, Stage } from './stage.ts';
import type { World } from './world.ts';

/** A message that existed at the end. */
export interface Found {
  readonly tag: string;
  /** The path with its sub-queue, and ` deferred` after it for a deferred message. */
  readonly path: string;
  readonly failedDeliveries: number;
  readonly sequenceNumber: bigint;
}

/** The result of a run. */
export interface Ended {
  readonly history: History;
  readonly found: readonly Found[];
  readonly requests: readonly SentRequest[];
  /** The outcomes of all calls and the messages left, as a text that is the same for equivalent runs. */
  readonly outcome: string;
  readonly violations: readonly string[];
}

/** What a new process finds in the tables. */
interface Leftovers {
  readonly found: readonly Found[];
  readonly violations: readonly string[];
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** After this time all locks have expired, ms. */
const CALM_MS = 6 * MINUTE;
/** The pauses before the final sweeps, ms: often enough for all that the sweep does in steps. */
const SWEEPS_MS = [MINUTE, 11 * MINUTE, 11 * MINUTE, DAY, DAY, 9 * DAY];
const PAGE = 100;
const ROUNDS_MAX = 60;
const DEAD_LETTERS = '/$DeadLetterQueue';

/** Ends the runs of a world. Runs that leave the same tables are drained once. */
export class Ending {
  readonly #world: World;
  readonly #known = new Map<string, Leftovers>();

  constructor(world: World) {
    this.#world = world;
  }

  async end(
    stage: Stage,
    history: History,
    { given, stuck }: { readonly given: unknown; readonly stuck: readonly string[] },
  ): Promise<Ended> {
    const snapshot = stage.snapshot();
    const key = `${snapshot.at} ${JSON.stringify(snapshot.items, withoutRandom)}`;
    const leftovers = this.#known.get(key) ?? (await this.#drain(new Stage({ snapshot })));
    this.#known.set(key, leftovers);
    const { found } = leftovers;
    const left = found.map(({ tag, path, failedDeliveries: n }) => `${tag} in ${path} (${n})`);
    const outcome = `${history.outcome()} | ${left.sort().join(', ')}`;
    const ended: Ended = { history, found, requests: stage.requests, outcome, violations: [] };
    const violations = [
      ...stuck.map((name) => `${name} never got an answer.`),
      ...stage.faults
        .filter(isUnexpected)
        .map((error) => `After an answer: ${(error as Error).stack}`),
      ...(stage.database.unsupported === undefined ? [] : [stage.database.unsupported.message]),
      ...leftovers.violations,
      ...checkHistory(history, found, this.#world),
      ...(this.#world.check?.(ended, given) ?? []),
    ];
    return { ...ended, violations };
  }

  async #drain(stage: Stage): Promise<Leftovers> {
    stage.time.now += CALM_MS;
    const receiver = new FinalReceiver(stage, this.#world);
    try {
      await stage.until(receiver.receiveAll());
      const left = await stage.until(receiver.clear());
      return { found: receiver.found, violations: left };
    } catch (error) {
      const why = `At the end a new process failed: ${(error as Error).stack}`;
      return { found: receiver.found, violations: [why] };
    }
  }
}

/** A new process that receives all messages left, and then runs the sweep. */
class FinalReceiver {
  readonly found: Found[] = [];
  readonly #stage: Stage;
  readonly #process: WorldProcess;
  readonly #world: World;

  constructor(stage: Stage, world: World) {
    this.#stage = stage;
    this.#world = world;
    this.#process = stage.start('newcomer');
  }

  async receiveAll(): Promise<void> {
    // After faults the sweep finishes what processes left unfinished; without faults it must not be needed.
    for (let i = 0; i < ((this.#world.faults ?? []).length > 0 ? 2 : 0); i++) {
      await this.#process.sweep();
      this.#stage.time.now += 2 * MINUTE;
    }
    for (const [path, settings] of Object.entries(this.#world.entities)) {
      if (settings.kind === 'topic') continue;
      const description = (await this.#process.dependencies.entities.read(path))?.description;
      if (description === undefined || description.kind === 'topic') continue;
      if (description.forwardTo !== undefined) continue;
      if (settings.requiresSession === true) await this.#receiveSessions(path);
      else await this.#receiveFrom(path);
      if (settings.forwardDeadLetteredMessagesTo === undefined) {
        await this.#receiveFrom(path + DEAD_LETTERS);
      }
      if (settings.requiresSession !== true) await this.#receiveDeferred(path);
    }
  }

  /** Runs the final sweeps; returns a violation for each item that belongs to nothing. */
  async clear(): Promise<readonly string[]> {
    const { time, database } = this.#stage;
    for (const ms of SWEEPS_MS) {
      time.now += ms;
      for (const item of database.expirable()) database.expire(item);
      await this.#process.sweep();
    }
    const entities = database.items(TABLES.entities);
    const ids = new Set(entities.map((item) => item['id']?.S));
    const isExplained = (pk: string, sk: string) => {
      const [id, leftovers = ''] = pk.split('.');
      return ids.has(id) && (sk === 'head' || /^\d+k$/.test(leftovers));
    };
    const keys = (table: string) =>
      database.items(table).map((item) => ({ pk: item['pk']?.S ?? '', sk: item['sk']?.S ?? '' }));
    return [
      ...keys(TABLES.messages).filter(({ pk, sk }) => !isExplained(pk, sk)),
      ...keys(TABLES.entities).filter(({ pk }) => /(graves|agenda|orphans)/.test(pk)),
    ].map(({ pk, sk }) => `Nothing explains ${pk} ${sk}, which the sweep left over.`);
  }

  async #receiveFrom(path: string, session?: SessionLock): Promise<void> {
    const { broker } = this.#process;
    for (let i = 0; i < ROUNDS_MAX; i++) {
      const messages = await broker.receive(pathOf(path), {
        mode: 'peekLock',
        maxMessages: PAGE,
        waitMs: 0,
        ...(session === undefined ? {} : { session }),
      });
      if (messages.length === 0) return;
      for (const one of messages) this.#record(one, path);
      const settlements = messages.map((one) => ({
        lockToken: 'lockToken' in one ? one.lockToken : '',
        action: { kind: 'complete' } as const,
      }));
      const outcomes = await broker.settle(pathOf(path), settlements, session?.sessionId);
      for (const { refusal } of outcomes) if (refusal !== undefined) throw refusal;
    }
  }

  async #receiveSessions(path: string): Promise<void> {
    const { broker } = this.#process;
    for (let i = 0; i < ROUNDS_MAX; i++) {
      const session = await broker.acceptSession(pathOf(path), { waitMs: 0 });
      if (session === undefined) return;
      await this.#receiveFrom(path, session);
      await broker.releaseSession(pathOf(path), session);
    }
  }

  async #receiveDeferred(path: string): Promise<void> {
    const { broker } = this.#process;
    const shown = await broker.peek(pathOf(path), { maxMessages: PAGE });
    const sequenceNumbers = shown
      .filter(({ state }) => state === 'Deferred')
      .map(({ sequenceNumber }) => sequenceNumber);
    if (sequenceNumbers.length === 0) return;
    const options = { mode: 'receiveAndDelete', sequenceNumbers } as const;
    const messages = await broker.receiveDeferred(pathOf(path), options);
    for (const one of messages) this.#record(one, `${path} deferred`);
  }

  #record({ message, failedDeliveries, sequenceNumber }: ReceivedMessage, path: string): void {
    this.found.push({ tag: message.messageId, path, failedDeliveries, sequenceNumber });
  }
}

function isUnexpected(error: unknown): boolean {
  return !(error instanceof Error && error.name === 'BrokerError');
}

/** Attributes with random values that no longer decide anything: tags of locks, stamps, tokens. */
const RANDOM = new Set(['t', 'x', 'k', 'r', 'id']);

function withoutRandom(key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const isRandom = RANDOM.has(key) && (value as { readonly B?: unknown }).B !== undefined;
  return isRandom ? undefined : value;
}
