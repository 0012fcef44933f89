import assert from 'node:assert/strict';
import type { Answer } from '../../support/api-client.ts';
import type { FaultClient } from '../../support/fault-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { type BatchMessage, fromWire, type TestBroker } from '../../support/test-broker.ts';
import type { SessionLockAnswer } from '../../support/test-session.ts';
import type { LedgerLock, LedgerMessage, SessionLedger } from './session-ledger.ts';

/** A process of the bus, with the faults of its database. */
export interface Process {
  readonly broker: TestBroker;
  readonly faults: FaultClient;
}

/** A sender or holder of sessions. */
abstract class Worker {
  protected readonly ledger: SessionLedger;
  protected readonly random: LoadRandom;
  readonly #process: Process;
  readonly #queue: string;

  constructor(process: Process, queue: string, ledger: SessionLedger, random: LoadRandom) {
    this.#process = process;
    this.#queue = queue;
    this.ledger = ledger;
    this.random = random;
  }

  protected get now(): number {
    return this.#process.broker.clock.now();
  }

  /** How many database answers were lost so far. If it grows during a request, the outcome is uncertain. */
  protected get lostAnswers(): number {
    return this.#process.faults.lostAnswers;
  }

  /** Sends a request. Fails on a status that no database fault explains and `also` does not list. */
  protected async request(
    method: string,
    path: string,
    also: readonly number[] = [],
    options: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const answer = await this.#process.broker.request(method, `${this.#queue}/${path}`, options);
    const { status, text } = answer;
    const isKnown = status < 300 || status === 503 || status === 504 || also.includes(status);
    assert.ok(isKnown, `${method} ${path}: ${status} ${text}`);
    if (status >= 500) this.ledger.tally.unknown++;
    return answer;
  }
}

/** Sends to its own sessions, one batch after the other. */
export class Sender extends Worker {
  async turn(sessions: readonly string[]): Promise<void> {
    const { random, ledger } = this;
    const messages = Array.from({ length: random.pick([1, 1, 2, 6]) }, () =>
      ledger.sending(sessions[random.below(sessions.length)] ?? ''),
    );
    const batch = messages.map(
      ({ id, session: SessionId }): BatchMessage => ({
        Body: id.padEnd(random.pick([10, 10, 3000]), id),
        BrokerProperties: { MessageId: id, SessionId },
      }),
    );
    const { status } = await this.request('POST', 'messages', [], {
      body: JSON.stringify(batch),
      headers: { 'Content-Type': 'application/vnd.microsoft.servicebus.json' },
    });
    for (const message of messages) message.sent = status === 201 ? 'done' : 'unknown';
    if (status === 201) ledger.tally.sent += messages.length;
  }
}

/** Accepts a session, receives and completes messages, and releases the session or abandons it. */
export class Holder extends Worker {
  /** Uses one session. Returns whether it accepted one. */
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

  async #accept(named: string | undefined): Promise<LedgerLock | undefined> {
    const query = named === undefined ? 'timeout=0' : `sessionId=${encodeURIComponent(named)}`;
    const answer = await this.request('POST', `sessions/$accept?${query}`, [409]);
    if (answer.status !== 201) return undefined;
    const { sessionId, sessionLock, lockedUntilUtc } = answer.json<SessionLockAnswer>();
    return this.ledger.accepted(sessionId, sessionLock, Date.parse(lockedUntilUtc));
  }

  #query({ session, token }: LedgerLock): string {
    return `sessionId=${encodeURIComponent(session)}&sessionLock=${token}`;
  }

  /** Returns undefined if the lock was lost. */
  async #receive(lock: LedgerLock) {
    const maxMessages = this.random.pick([1, 2, 10]);
    const path = `messages/head?timeout=0&maxMessages=${maxMessages}&${this.#query(lock)}`;
    const began = this.ledger.tally.accepted;
    const answer = await this.request('POST', path, [410]);
    if (answer.status === 410) return this.#recordLost(lock, 'receive');
    // If the answer to a claim is lost, the bus ends the lock: it must not skip messages it may have claimed.
    if (answer.status === 504) lock.mayBeOverSince ??= began;
    if (answer.status !== 201) return [];
    const received = answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
    const messages = this.ledger.received(lock, received);
    return messages.map((message, i) => ({ message, token: received[i]?.broker.LockToken ?? '' }));
  }

  #recordLost(lock: LedgerLock, what: string): undefined {
    this.ledger.tally.lost++;
    if (this.ledger.isCertain(lock)) {
      this.ledger.report(`${lock.session} lost its live lock, according to a ${what}`);
    }
    return undefined;
  }

  async #complete(
    lock: LedgerLock,
    received: readonly { readonly message: LedgerMessage; readonly token: string }[],
  ): Promise<void> {
    const chosen = received.filter(() => this.random.chance(0.8));
    if (chosen.length === 0) return;
    const before = this.lostAnswers;
    // From here on each may be completed.
    for (const { message } of chosen) message.completed ??= 'unknown';
    const settlements = chosen.map(({ token }) => ({ lockToken: token, outcome: 'complete' }));
    const answer = await this.request('POST', `messages/$settle?${this.#query(lock)}`, [], {
      body: JSON.stringify({ settlements }),
    });
    if (answer.status !== 200) return;
    const outcomes = answer.json<{ settlements: { error?: { code: string } }[] }>().settlements;
    for (const [i, { message }] of chosen.entries()) {
      const code = outcomes[i]?.error?.code;
      if (code === undefined) {
        if (message.completed === 'done') this.ledger.report(`${message.id} was completed twice`);
        message.completed = 'done';
        this.ledger.tally.completed++;
      } else if (code === 'SessionLockLost' && this.lostAnswers === before) {
        this.#recordLost(lock, `completion of ${message.id}`);
      }
    }
  }

  async #renew(lock: LedgerLock): Promise<void> {
    const answer = await this.request('POST', `sessions/$renew?${this.#query(lock)}`, [410]);
    if (answer.status === 410) this.#recordLost(lock, 'renewal');
    if (answer.status !== 200) return;
    lock.until = Date.parse(answer.json<SessionLockAnswer>().lockedUntilUtc);
  }

  async #release(lock: LedgerLock): Promise<void> {
    const wasSure = this.ledger.isCertain(lock);
    const before = this.lostAnswers;
    lock.isFreed = true;
    const { status } = await this.request('POST', `sessions/$release?${this.#query(lock)}`, [410]);
    const isWrong = status === 410 && wasSure && this.now < lock.until;
    if (isWrong && this.lostAnswers === before) {
      this.ledger.report(`${lock.session} could not be released`);
    }
  }
}
