import type { Composition } from '../../lambdas/http/compose.ts';
import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Found } from './checks/endings.ts';
import { type Violation, violation } from './checks/violation.ts';
import { broker, pathOf } from './clients/operations.ts';
import { tagOf } from './clients/wire.ts';
import { type SimulatedProcess, TABLES } from './engine/process.ts';
import type { World } from './engine/world.ts';
import { DEAD_LETTERS, type ReceivableSpec } from './scenario/scenario.ts';

const PAGE = 100;
/** More pages than a run can have messages. */
const PAGES_MAX = 200;

/** Receives and completes all that is left once nobody is at work any more. */
export class Drain {
  readonly found: Found[] = [];
  readonly violations: Violation[] = [];
  /** Whether messages were to be had long before. */
  isLate = false;
  readonly #world: World;
  readonly #process: SimulatedProcess;

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world;
    this.#process = process;
  }

  async run(): Promise<void> {
    // What was left half done behind answers is the sweep's.
    for (let i = 0; i < 3; i++) {
      await this.#world.timeline.pause(2 * 60_000);
      await this.#ask('the sweep', (composition) => composition.sweep());
    }
    const receivables = this.#world.scenario.entities.filter((entity) => entity.kind !== 'topic');
    // What expires, or is dead-lettered on, while others are drained comes to the second round.
    for (let round = 0; round < 2 && this.#isAnyLeft(); round++) {
      for (const entity of receivables) {
        await this.#drain(entity);
      }
    }
  }

  async #drain(entity: ReceivableSpec): Promise<void> {
    const { path } = entity;
    const isThere = await this.#ask(`a look at ${path}`, async ({ management }) => {
      try {
        await management.get(path);
        return true;
      } catch (error) {
        if (error instanceof BrokerError && error.code === 'MessagingEntityNotFound') return false;
        throw error;
      }
    });
    if (isThere !== true) return;
    if (entity.forwardTo !== undefined) {
      await this.#drainQueue(path + DEAD_LETTERS);
      return;
    }
    if (entity.requiresSession) await this.#drainSessions(path);
    else await this.#drainQueue(path);
    // Expired ones are shown until they are cleared; they can be had no more.
    if (entity.defaultTimeToLiveMs === undefined) {
      const sessions = entity.requiresSession ? this.#sessions() : [undefined];
      for (const sessionId of sessions) await this.#drainDeferred(path, sessionId);
    }
    if (entity.forwardDeadLettersTo !== undefined) return;
    await this.#drainQueue(path + DEAD_LETTERS);
    await this.#drainDeferred(path + DEAD_LETTERS, undefined);
  }

  async #drainQueue(
    path: string,
    session?: { sessionId: string; lockToken: string },
  ): Promise<void> {
    let before: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const messages = await this.#ask(`a receive from ${path}`, (composition) =>
        broker(composition).receive(pathOf(path), {
          mode: 'peekLock',
          maxMessages: PAGE,
          waitMs: 0,
          ...(session === undefined ? {} : { session }),
        }),
      );
      if (messages === undefined) return;
      if (messages.length > 0) {
        await this.#complete(path, messages, session?.sessionId);
        continue;
      }
      // One receive clears away only so much of what has expired.
      const left = this.#places();
      if (left === before) return;
      before = left;
    }
  }

  /** Whether there is any block of messages, of whatever store. */
  #isAnyLeft(): boolean {
    return this.#world.database.items(TABLES.messages).some((item) => item['s'] !== undefined);
  }

  /** Where messages lie in main queues, those included that have expired: forwarded, they are as many elsewhere. */
  #places(): string {
    return this.#world.database
      .items(TABLES.messages)
      .filter((item) => /\.\d+m/.test(item['pk']?.S ?? ''))
      .map((item) => `${item['pk']?.S} ${item['sk']?.S} ${Object.keys(item['s']?.M ?? {}).length}`)
      .join();
  }

  async #drainSessions(path: string): Promise<void> {
    for (let sessions = 0; sessions < PAGES_MAX; sessions++) {
      const session = await this.#ask(`an accept of ${path}`, (composition) =>
        broker(composition).acceptSession(pathOf(path), { waitMs: 0 }),
      );
      if (session === undefined) return;
      const { sessionId, lockToken } = session;
      await this.#drainQueue(path, { sessionId, lockToken });
      await this.#ask(`a release in ${path}`, (composition) =>
        broker(composition).releaseSession(pathOf(path), { sessionId, lockToken }),
      );
    }
  }

  async #drainDeferred(path: string, sessionId: string | undefined): Promise<void> {
    while (await this.#takeShown(path, sessionId)) {
      // Each peek shows the first ones that are left.
    }
  }

  /** Receives the deferred messages that one peek shows. True = there were some. */
  async #takeShown(path: string, sessionId: string | undefined): Promise<boolean> {
    const taken = this.found.length;
    const shown = await this.#ask(`a peek at ${path}`, (composition) =>
      broker(composition).peek(pathOf(path), {
        maxMessages: 250,
        ...(sessionId === undefined ? {} : { sessionId }),
      }),
    );
    for (const { message, sequenceNumber, state, expiresAt } of shown ?? []) {
      const isOver = (expiresAt ?? Number.POSITIVE_INFINITY) <= this.#process.clockNow();
      // What has expired is shown until it is cleared.
      if (state !== 'Deferred' || isOver) continue;
      await this.#takeDeferred(path, sequenceNumber, tagOf(message), sessionId);
    }
    return this.found.length > taken;
  }

  /** The sessions that messages of the run can have. */
  #sessions(): readonly string[] {
    const ids = this.#world.scenario.steps.flatMap(({ action }) => {
      if (action.kind === 'send') return action.messages.map(({ sessionId }) => sessionId);
      if (action.kind !== 'transact') return [];
      return action.sends.flatMap(({ messages }) => messages.map(({ sessionId }) => sessionId));
    });
    return [...new Set(ids.filter((id) => id !== undefined))];
  }

  async #takeDeferred(
    path: string,
    sequenceNumber: bigint,
    tag: string,
    sessionId: string | undefined,
  ): Promise<void> {
    const messages = await this.#ask(
      `a receive of ${tag}, which is deferred`,
      async (composition) => {
        const session =
          sessionId === undefined
            ? undefined
            : await broker(composition).acceptSession(pathOf(path), { sessionId, waitMs: 0 });
        const got = await broker(composition).receiveDeferred(pathOf(path), {
          mode: 'receiveAndDelete',
          sequenceNumbers: [sequenceNumber],
          ...(session === undefined ? {} : { session }),
        });
        if (session !== undefined) await broker(composition).releaseSession(pathOf(path), session);
        return got;
      },
    );
    for (const { message } of messages ?? []) this.#find(tagOf(message), path);
  }

  async #complete(
    path: string,
    messages: readonly ReceivedMessage[],
    sessionId: string | undefined,
  ): Promise<void> {
    for (const { message } of messages) this.#find(tagOf(message), path);
    const outcomes = await this.#ask(`completions in ${path}`, (composition) =>
      broker(composition).settle(
        pathOf(path),
        messages.map((one) => ({
          lockToken: 'lockToken' in one ? one.lockToken : '',
          action: { kind: 'complete' },
        })),
        sessionId,
      ),
    );
    for (const { refusal } of outcomes ?? []) {
      if (refusal !== undefined) this.#fail(`completions in ${path}`, refusal.message);
    }
  }

  async #ask<Value>(
    what: string,
    work: (composition: Composition) => Promise<Value>,
  ): Promise<Value | undefined> {
    const heard = await this.#process.call(work);
    if (heard.kind === 'done') return heard.value;
    this.#fail(what, heard.kind === 'unknown' ? heard.why : String(heard.error));
    return undefined;
  }

  #find(tag: string, path: string): void {
    this.found.push({ tag, path, isLate: this.isLate });
  }

  /** Nothing goes wrong any more, and nobody is in the way: every answer must be a success. */
  #fail(what: string, why: string): void {
    this.violations.push(violation('answer', `When all was calm, ${what} failed: ${why}`));
  }
}
