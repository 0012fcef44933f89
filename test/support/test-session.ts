import type { Answer, RequestOptions } from './api-client.ts';
import {
  expectStatus,
  type OutcomeAnswer,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from './test-broker.ts';
import { fromWire, received, type WireMessage } from './wire-message.ts';

export interface SessionLockAnswer {
  readonly sessionId: string;
  readonly sessionLock: string;
  readonly lockedUntilUtc: string;
}

/** Accepts the named session; throws if another client has locked it. */
export async function acceptSession(
  broker: TestBroker,
  path: string,
  sessionId: string,
): Promise<TestSession> {
  const answer = await acceptRaw(broker, path, sessionId);
  expectStatus(answer, 201);
  return new TestSession(broker, path, answer.json<SessionLockAnswer>());
}

export function acceptRaw(broker: TestBroker, path: string, sessionId: string): Promise<Answer> {
  const query = `sessionId=${encodeURIComponent(sessionId)}`;
  return broker.request('POST', `${path}/sessions/$accept?${query}`);
}

/** Accepts the next available session; undefined if there is none. */
export async function acceptNext(
  broker: TestBroker,
  path: string,
  timeout = 0,
): Promise<TestSession | undefined> {
  const answer = await broker.request('POST', `${path}/sessions/$accept?timeout=${timeout}`);
  if (answer.status === 204) return undefined;
  expectStatus(answer, 201);
  return new TestSession(broker, path, answer.json<SessionLockAnswer>());
}

/** The ids of sessions with messages; with an instant (ISO 8601), of those whose state was set since. */
export async function listSessions(
  broker: TestBroker,
  path: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<readonly string[]> {
  const text = Object.entries(query).map(([key, value]) => `${key}=${value}`);
  const answer = await broker.request('GET', `${path}/sessions/$list?${text.join('&')}`);
  expectStatus(answer, 200);
  return answer.json<{ sessionIds: string[] }>().sessionIds;
}

/** A session that this client has locked, over HTTP. */
export class TestSession {
  readonly id: string;
  readonly lock: string;
  readonly lockedUntilUtc: string;
  readonly #broker: TestBroker;
  readonly #path: string;

  constructor(broker: TestBroker, path: string, lock: SessionLockAnswer) {
    this.#broker = broker;
    this.#path = path;
    this.id = lock.sessionId;
    this.lock = lock.sessionLock;
    this.lockedUntilUtc = lock.lockedUntilUtc;
  }

  /** The query parameters of the session and its lock. */
  get query(): string {
    return `sessionId=${encodeURIComponent(this.id)}&sessionLock=${this.lock}`;
  }

  request(method: string, path: string, options?: RequestOptions): Promise<Answer> {
    const mark = path.includes('?') ? '&' : '?';
    return this.#broker.request(method, `${this.#path}/${path}${mark}${this.query}`, options);
  }

  async #expect(status: number, ...request: Parameters<TestSession['request']>): Promise<Answer> {
    const answer = await this.request(...request);
    expectStatus(answer, status);
    return answer;
  }

  /** Peek-locks one message in the form of headers; undefined if there is none. */
  async peekLock(timeout = 0): Promise<Received | undefined> {
    const answer = await this.request('POST', `messages/head?timeout=${timeout}`);
    if (answer.status === 204) return undefined;
    expectStatus(answer, 201);
    return received(answer);
  }

  async peekLockMany(maxMessages: number): Promise<readonly Received[]> {
    return await this.#many('POST', maxMessages);
  }

  async receiveAndDeleteMany(maxMessages: number): Promise<readonly Received[]> {
    return await this.#many('DELETE', maxMessages);
  }

  async #many(method: string, maxMessages: number): Promise<readonly Received[]> {
    const path = `messages/head?timeout=0&maxMessages=${maxMessages}`;
    const answer = await this.request(method, path);
    if (answer.status === 204) return [];
    expectStatus(answer, method === 'POST' ? 201 : 200);
    return answer.json<WireMessage[]>().map(fromWire);
  }

  async settle(settlements: readonly SettlementRequest[]): Promise<readonly OutcomeAnswer[]> {
    const answer = await this.#post('messages/$settle', { settlements }, 200);
    return answer.json<{ settlements: OutcomeAnswer[] }>().settlements;
  }

  async receiveDeferred(sequenceNumbers: readonly number[]): Promise<readonly Received[]> {
    const answer = await this.#post('messages/$deferred', { sequenceNumbers }, 201);
    return answer.json<WireMessage[]>().map(fromWire);
  }

  async #post(path: string, body: unknown, status: number): Promise<Answer> {
    const headers = { 'Content-Type': 'application/json' };
    return await this.#expect(status, 'POST', path, { body: JSON.stringify(body), headers });
  }

  async peek(): Promise<readonly Received[]> {
    return (await this.#expect(200, 'GET', 'messages')).json<WireMessage[]>().map(fromWire);
  }

  /** Renews the lock. Returns its new end. */
  async renew(): Promise<string> {
    const answer = await this.#expect(200, 'POST', 'sessions/$renew');
    return answer.json<SessionLockAnswer>().lockedUntilUtc;
  }

  async release(): Promise<void> {
    await this.#expect(200, 'POST', 'sessions/$release');
  }

  /** The state as text; undefined if none is set. */
  async state(): Promise<string | undefined> {
    const answer = await this.request('GET', 'sessions/$state');
    if (answer.status === 204) return undefined;
    expectStatus(answer, 200);
    return answer.text;
  }

  async setState(state: string | Uint8Array): Promise<void> {
    await this.#expect(200, 'PUT', 'sessions/$state', { body: state });
  }

  async clearState(): Promise<void> {
    await this.#expect(200, 'DELETE', 'sessions/$state');
  }
}
