import assert from 'node:assert/strict';
import type { Answer } from '../../support/api-client.ts';
import type { FaultClient } from '../../support/fault-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { type BatchMessage, fromWire, type TestBroker } from '../../support/test-broker.ts';
import type { SessionLockAnswer } from '../../support/test-session.ts';
import type { BookedLock, BookedMessage, SessionBook } from './session-book.ts';

/** A process of the bus whose database fails. */
export interface Process {
  readonly broker: TestBroker;
  readonly faults: FaultClient;
}

/** What those who use a queue have in common. */
abstract class Worker {
  protected readonly book: SessionBook;
  protected readonly random: LoadRandom;
  readonly #process: Process;
  readonly #queue: string;

  constructor(process: Process, queue: string, book: SessionBook, random: LoadRandom) {
    this.#process = process;
    this.#queue = queue;
    this.book = book;
    this.random = random;
  }

  protected get now(): number {
    return this.#process.broker.clock.now();
  }

  /** How many answers of the database were lost so far: what then came of a request is not certain. */
  protected get lostAnswers(): number {
    return this.#process.faults.lostAnswers;
  }

  /** Makes a request. Only what a failing database explains may come, or what `also` names. */
  protected async ask(
    method: string,
    path: string,
    also: readonly number[] = [],
    options: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const answer = await this.#process.broker.request(method, `${this.#queue}/${path}`, options);
    const { status, text } = answer;
    const isKnown = status < 300 || status === 503 || status === 504 || also.includes(status);
    assert.ok(isKnown, `${method} ${path}: ${status} ${text}`);
    if (status >= 500) this.book.tally.unknown++;
    return answer;
  }
}

/** Sends into sessions of its own, one batch after the other. */
export class Sender extends Worker {
  async turn(sessions: readonly string[]): Promise<void> {
    const { random, book } = this;
    const messages = Array.from({ length: random.pick([1, 1, 2, 6]) }, () =>
      book.sending(sessions[random.below(sessions.length)] ?? ''),
    );
    const batch = messages.map(
      ({ id, session: SessionId }): BatchMessage => ({
        Body: id.padEnd(random.pick([10, 10, 3000]), id),
        BrokerProperties: { MessageId: id, SessionId },
      }),
    );
    const { status } = await this.ask('POST', 'messages', [], {
      body: JSON.stringify(batch),
      headers: { 'Content-Type': 'application/vnd.microsoft.servicebus.json' },
    });
    for (const message of messages) message.sent = status === 201 ? 'done' : 'unknown';
    if (status === 201) book.tally.sent += messages.length;
  }
}

/** Accepts a session, receives and completes in it, and gives it back, or vanishes. */
export class Holder extends Worker {
  /** Does all that it does with one session. Says whether there was one. */
  async turn(sessions: readonly string[]): Promise<boolean> {
    const { random } = this;
    const named = random.chance(0.2) ? sessions[random.below(sessions.length)] : undefined;
    const lock = await this.#accept(named);
    if (lock === undefined) return false;
    for (let left = random.below(4); left > 0; left--) {
      const messages = await this.#receive(lock);
      if (messages === undefined) return true;
      await this.#complete(lock, messages);
      if (random.chance(0.2)) await this.#renew(lock);
    }
    if (random.chance(0.7)) await this.#release(lock);
    return true;
  }

  async #accept(named: string | undefined): Promise<BookedLock | undefined> {
    const query = named === undefined ? 'timeout=0' : `sessionId=${encodeURIComponent(named)}`;
    const answer = await this.ask('POST', `sessions/$accept?${query}`, [409]);
    if (answer.status !== 201) return undefined;
    const { sessionId, sessionLock, lockedUntilUtc } = answer.json<SessionLockAnswer>();
    return this.book.accepted(sessionId, sessionLock, Date.parse(lockedUntilUtc));
  }

  #query({ session, token }: BookedLock): string {
    return `sessionId=${encodeURIComponent(session)}&sessionLock=${token}`;
  }

  /** Nothing where the lock was lost. */
  async #receive(lock: BookedLock) {
    const maxMessages = this.random.pick([1, 2, 10]);
    const path = `messages/head?timeout=0&maxMessages=${maxMessages}&${this.#query(lock)}`;
    const began = this.book.tally.accepted;
    const answer = await this.ask('POST', path, [410]);
    if (answer.status === 410) return this.#lost(lock, 'receive');
    // Where a claim stays unheard, the bus ends the lock rather than pass over what it may have claimed.
    if (answer.status === 504) lock.mayBeOverSince ??= began;
    if (answer.status !== 201) return [];
    const received = answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
    const messages = this.book.received(lock, received);
    return messages.map((message, i) => ({ message, token: received[i]?.broker.LockToken ?? '' }));
  }

  #lost(lock: BookedLock, what: string): undefined {
    this.book.tally.lost++;
    if (this.book.isSure(lock)) {
      this.book.complain(`${lock.session} lost its live lock, said a ${what}`);
    }
    return undefined;
  }

  async #complete(
    lock: BookedLock,
    received: readonly { readonly message: BookedMessage; readonly token: string }[],
  ): Promise<void> {
    const chosen = received.filter(() => this.random.chance(0.8));
    if (chosen.length === 0) return;
    const before = this.lostAnswers;
    // From here on it may be gone.
    for (const { message } of chosen) message.completed ??= 'unknown';
    const settlements = chosen.map(({ token }) => ({ lockToken: token, outcome: 'complete' }));
    const answer = await this.ask('POST', `messages/$settle?${this.#query(lock)}`, [], {
      body: JSON.stringify({ settlements }),
    });
    if (answer.status !== 200) return;
    const outcomes = answer.json<{ settlements: { error?: { code: string } }[] }>().settlements;
    for (const [i, { message }] of chosen.entries()) {
      const code = outcomes[i]?.error?.code;
      if (code === undefined) {
        if (message.completed === 'done') this.book.complain(`${message.id} was completed twice`);
        message.completed = 'done';
        this.book.tally.completed++;
      } else if (code === 'SessionLockLost' && this.lostAnswers === before) {
        this.#lost(lock, `completion of ${message.id}`);
      }
    }
  }

  async #renew(lock: BookedLock): Promise<void> {
    const answer = await this.ask('POST', `sessions/$renew?${this.#query(lock)}`, [410]);
    if (answer.status === 410) this.#lost(lock, 'renewal');
    if (answer.status !== 200) return;
    lock.until = Date.parse(answer.json<SessionLockAnswer>().lockedUntilUtc);
  }

  async #release(lock: BookedLock): Promise<void> {
    const wasSure = this.book.isSure(lock);
    const before = this.lostAnswers;
    lock.isLetGo = true;
    const { status } = await this.ask('POST', `sessions/$release?${this.#query(lock)}`, [410]);
    const isWronged = status === 410 && wasSure && this.now < lock.until;
    if (isWronged && this.lostAnswers === before) {
      this.book.complain(`${lock.session} could not be given back`);
    }
  }
}
