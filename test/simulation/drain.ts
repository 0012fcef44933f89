import type { Composition } from '../../lambdas/http/compose.ts';
import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Found } from './checks/endings.ts';
import { type Violation, violation } from './checks/violation.ts';
import { broker, pathOf } from './clients/operations.ts';
import { tagOf } from './clients/wire.ts';
import { type SimulatedProcess, TABLES } from './machines/process.ts';
import type { World } from './machines/world.ts';
import { DEAD_LETTERS, type ReceivableSpec } from './scenario/scenario.ts';

const PAGE = 100;
/** More pages than a run can have messages. */
const PAGES_MAX = 200;

/** Receives and completes all messages that are left after the clients have stopped. */
export class Drain {
  readonly found: Found[] = [];
  readonly violations: Violation[] = [];
  /** Whether it runs after days of sweeps, when all messages should be drained already. */
  isLate = false;
  readonly #world: World;
  readonly #process: SimulatedProcess;

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world;
    this.#process = process;
  }

  async run(): Promise<void> {
    // The sweep finishes what processes left unfinished after their answers.
    for (let i = 0; i < 3; i++) {
      await this.#world.timeline.pause(2 * 60_000);
      await this.#call('the sweep', (composition) => composition.sweep());
    }
    const receivables = this.#world.scenario.entities.filter((entity) => entity.kind !== 'topic');
    // The second round receives what expires, or is dead-lettered to another queue, during the first.
    for (let round = 0; round < 2 && this.#isAnyLeft(); round++) {
      for (const entity of receivables) {
        await this.#drain(entity);
      }
    }
  }

  async #drain(entity: ReceivableSpec): Promise<void> {
    const { path } = entity;
    const isThere = await this.#call(`a look at ${path}`, async ({ management }) => {
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
    // A peek shows expired messages until they are removed, but they cannot be received.
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
      const messages = await this.#call(`a receive from ${path}`, (composition) =>
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
      // One receive removes only a limited number of expired messages.
      const left = this.#places();
      if (left === before) return;
      before = left;
    }
  }

  /** Whether any block of messages exists. */
  #isAnyLeft(): boolean {
    return this.#world.database.items(TABLES.messages).some((item) => item['s'] !== undefined);
  }

  /** The blocks of main queues with their message counts, which show whether a receive removed expired messages. */
  #places(): string {
    return this.#world.database
      .items(TABLES.messages)
      .filter((item) => /\.\d+m/.test(item['pk']?.S ?? ''))
      .map((item) => `${item['pk']?.S} ${item['sk']?.S} ${Object.keys(item['s']?.M ?? {}).length}`)
      .join();
  }

  async #drainSessions(path: string): Promise<void> {
    for (let sessions = 0; sessions < PAGES_MAX; sessions++) {
      const session = await this.#call(`an accept of ${path}`, (composition) =>
        broker(composition).acceptSession(pathOf(path), { waitMs: 0 }),
      );
      if (session === undefined) return;
      const { sessionId, lockToken } = session;
      await this.#drainQueue(path, { sessionId, lockToken });
      await this.#call(`a release in ${path}`, (composition) =>
        broker(composition).releaseSession(pathOf(path), { sessionId, lockToken }),
      );
    }
  }

  async #drainDeferred(path: string, sessionId: string | undefined): Promise<void> {
    while (await this.#takeShown(path, sessionId)) {
      // Each peek shows the first remaining messages.
    }
  }

  /** Receives the deferred messages that one peek shows. Returns whether there were any. */
  async #takeShown(path: string, sessionId: string | undefined): Promise<boolean> {
    const taken = this.found.length;
    const shown = await this.#call(`a peek at ${path}`, (composition) =>
      broker(composition).peek(pathOf(path), {
        maxMessages: 250,
        ...(sessionId === undefined ? {} : { sessionId }),
      }),
    );
    for (const { message, sequenceNumber, state, expiresAt } of shown ?? []) {
      const isOver = (expiresAt ?? Number.POSITIVE_INFINITY) <= this.#process.clockNow();
      // A peek shows expired messages until they are removed.
      if (state !== 'Deferred' || isOver) continue;
      await this.#takeDeferred(path, sequenceNumber, tagOf(message), sessionId);
    }
    return this.found.length > taken;
  }

  /** The session ids of all messages in the scenario. */
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
    const messages = await this.#call(
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
    for (const { message } of messages ?? []) this.#record(tagOf(message), path);
  }

  async #complete(
    path: string,
    messages: readonly ReceivedMessage[],
    sessionId: string | undefined,
  ): Promise<void> {
    for (const { message } of messages) this.#record(tagOf(message), path);
    const outcomes = await this.#call(`completions in ${path}`, (composition) =>
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

  async #call<Value>(
    what: string,
    work: (composition: Composition) => Promise<Value>,
  ): Promise<Value | undefined> {
    const result = await this.#process.call(work);
    if (result.kind === 'done') return result.value;
    this.#fail(what, result.kind === 'unknown' ? result.why : String(result.error));
    return undefined;
  }

  #record(tag: string, path: string): void {
    this.found.push({ tag, path, isLate: this.isLate });
  }

  /** Reports a failure: without faults and other clients, every call must succeed. */
  #fail(what: string, why: string): void {
    this.violations.push(violation('answer', `After all faults had ended, ${what} failed: ${why}`));
  }
}
