import assert from 'node:assert/strict';
import type { Answer } from '../../support/api-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/**
 * A bank whose accounts are messages: each account is one message that holds its balance, in one of two
 * queues. A transfer receives two accounts and, in one transaction, completes both and sends both with new
 * balances. So the sum stays the same whatever fails, and each account exists exactly once.
 */

const QUEUES = ['north', 'south'] as const;
export const LOCK_MS = 30_000;
const START_BALANCE = 1000;
/** A worker sends a transfer at most this often while its outcome is unknown, and then gives it up. */
const ATTEMPTS_MAX = 4;

interface Account {
  readonly account: number;
  readonly balance: number;
}

/** A transfer; every attempt sends the same body, under the same transaction id. */
interface Transfer {
  readonly body: string;
  readonly deltas: ReadonlyMap<number, number>;
  outcome: 'done' | 'refused' | 'unknown';
}

export class Bank {
  readonly log: string[] = [];
  readonly tally = { done: 0, refused: 0, unknown: 0, crashed: 0 };
  readonly #brokers: readonly [TestBroker, ...TestBroker[]];
  readonly #random: LoadRandom;
  readonly #accounts: number;
  readonly #name: string;
  readonly #usesIds: boolean;
  /** The transfers since the last reconciliation. */
  readonly #transfers: Transfer[] = [];
  readonly #expected = new Map<number, number>();
  #lastId = 0;

  /** `brokers` are processes of one namespace. */
  constructor(
    brokers: readonly [TestBroker, ...TestBroker[]],
    random: LoadRandom,
    options: { readonly accounts: number; readonly name: string; readonly usesIds: boolean },
  ) {
    this.#brokers = brokers;
    this.#random = random;
    this.#accounts = options.accounts;
    this.#name = options.name;
    this.#usesIds = options.usesIds;
  }

  async open(): Promise<void> {
    const [broker] = this.#brokers;
    for (const queue of QUEUES) {
      const settings = { LockDuration: 'PT30S', MaxDeliveryCount: '2147483647' };
      expectStatus(await broker.createQueue(this.#path(queue), settings), 201);
    }
    const accounts = Array.from({ length: this.#accounts }, (_, account) => ({
      Body: bodyOf({ account, balance: START_BALANCE }),
    }));
    expectStatus(await broker.sendBatch(this.#path('north'), accounts), 201);
  }

  /** One worker's attempt at a transfer; the worker may crash on the way. */
  async transfer(): Promise<void> {
    const random = this.#random;
    const broker = random.pick(this.#brokers);
    const queue = this.#path(random.pick(QUEUES));
    const pair = await this.#receive(broker, queue);
    if (random.chance(0.05)) broker.clock.advance({ ms: random.pick([1000, LOCK_MS]) });
    if (pair.length < 2) return await this.#abandon(broker, queue, pair);
    if (random.chance(0.1)) return this.#crash('with two locks');
    await this.#move(broker, queue, pair);
  }

  async #receive(broker: TestBroker, queue: string): Promise<readonly Received[]> {
    const answer = await broker.request('POST', `${queue}/messages/head?timeout=0&maxMessages=2`);
    if (answer.status !== 201) {
      if (answer.status !== 204) requireRetryable(answer);
      return [];
    }
    return answer
      .json<{ Body: string; BrokerProperties: Received['broker'] }[]>()
      .map(({ Body: body, BrokerProperties }) => ({ body, broker: BrokerProperties }) as Received);
  }

  async #abandon(broker: TestBroker, queue: string, messages: readonly Received[]) {
    if (messages.length === 0) return;
    const operations = messages.map(({ broker: { LockToken } }) => ({
      abandon: queue,
      lockToken: LockToken,
    }));
    const answer = await this.#send(broker, JSON.stringify({ operations }));
    if (answer.status !== 200 && answer.status !== 404) requireRetryable(answer);
  }

  async #move(broker: TestBroker, queue: string, messages: readonly Received[]): Promise<void> {
    const random = this.#random;
    const [from, to] = messages.map(({ body }) => JSON.parse(body) as Account);
    assert.ok(from && to && from.account !== to.account, `${queue} has an account twice`);
    const amount = random.below(from.balance + 1);
    const deltas = new Map([
      [from.account, -amount],
      [to.account, amount],
    ]);
    const sends = [from, to].map(({ account, balance }) => ({
      send: this.#path(random.pick(QUEUES)),
      messages: [{ Body: bodyOf({ account, balance: balance + (deltas.get(account) ?? 0) }) }],
    }));
    const completes = messages.map(({ broker: { LockToken } }) => ({
      complete: queue,
      lockToken: LockToken,
    }));
    const operations = random.chance(0.5) ? [...completes, ...sends] : [...sends, ...completes];
    const id = this.#usesIds ? `${this.#name} ${this.#lastId++}` : undefined;
    const transfer: Transfer = {
      body: JSON.stringify({ id, operations }),
      deltas,
      outcome: 'unknown',
    };
    this.#transfers.push(transfer);
    await this.#submit(broker, transfer);
  }

  async #submit(first: TestBroker, transfer: Transfer): Promise<void> {
    const random = this.#random;
    let broker = first;
    for (let attempts = 0; attempts < ATTEMPTS_MAX && transfer.outcome === 'unknown'; attempts++) {
      const together = this.#usesIds && random.chance(0.1) ? 2 : 1;
      const answers = await Promise.all(
        Array.from({ length: together }, () => this.#send(broker, transfer.body)),
      );
      for (const answer of answers) this.#record(transfer, answer);
      if (!this.#usesIds) break;
      broker = random.pick(this.#brokers);
      if (transfer.outcome === 'unknown' && random.chance(0.3)) return this.#crash('unanswered');
    }
  }

  #record(transfer: Transfer, answer: Answer): void {
    const outcome = outcomeOf(answer);
    this.log.push(`${transfer.body}: ${answer.status} ${answer.text}`);
    this.tally[outcome]++;
    if (outcome === 'unknown') return;
    const isConsistent = transfer.outcome === 'unknown' || transfer.outcome === outcome;
    assert.ok(isConsistent, `${transfer.outcome} and ${outcome}: ${transfer.body}`);
    transfer.outcome = outcome;
  }

  #crash(when: string): void {
    this.tally.crashed++;
    this.log.push(`a worker crashed ${when}`);
  }

  /** The balances of all accounts, by number. No transfer may be under way. */
  async audit(): Promise<ReadonlyMap<number, number>> {
    const [broker] = this.#brokers;
    const lists = await Promise.all(QUEUES.map((queue) => broker.peek(this.#path(queue))));
    const accounts = lists.flat().map(({ body }) => JSON.parse(body) as Account);
    const balances = new Map(accounts.map(({ account, balance }) => [account, balance]));
    assert.equal(accounts.length, this.#accounts, 'accounts');
    assert.equal(balances.size, this.#accounts, 'different accounts');
    const sum = [...balances.values()].reduce((total, balance) => total + balance, 0);
    assert.equal(sum, this.#accounts * START_BALANCE, 'money');
    return balances;
  }

  /**
   * Repeats each transfer under its id to learn its outcome, while the bus still keeps the id; then compares
   * each balance with the transfers that were done.
   */
  async reconcile(): Promise<void> {
    if (!this.#usesIds) return;
    const [broker] = this.#brokers;
    for (const transfer of this.#transfers.splice(0)) {
      const answer = await this.#send(broker, transfer.body);
      assert.notEqual(outcomeOf(answer), 'unknown', answer.text);
      this.#record(transfer, answer);
      if (transfer.outcome !== 'done') continue;
      for (const [account, delta] of transfer.deltas) {
        this.#expected.set(account, (this.#expected.get(account) ?? START_BALANCE) + delta);
      }
    }
    for (const [account, balance] of await this.audit()) {
      const expected = this.#expected.get(account) ?? START_BALANCE;
      assert.equal(balance, expected, `the balance of account ${account}`);
    }
  }

  #send(broker: TestBroker, body: string): Promise<Answer> {
    return broker.request('POST', '$transactions', { body });
  }

  #path(queue: string): string {
    return `${this.#name}/${queue}`;
  }
}

/** Some bodies are too large for a block, and are stored separately. */
function bodyOf({ account, balance }: Account): string {
  const contract = account % 7 === 0 ? 'contract '.repeat(400 + account) + account * 7919 : '';
  return JSON.stringify({ account, balance, contract });
}

function outcomeOf(answer: Answer): 'done' | 'refused' | 'unknown' {
  if (answer.status === 200) return 'done';
  const { code } = answer.json<{ error: { code: string } }>().error;
  if (code === 'MessageLockLost') return 'refused';
  requireRetryable(answer);
  return 'unknown';
}

/** Requires an error that the failing database explains, and that a client may retry. */
function requireRetryable(answer: Answer): void {
  const code = answer.headers.get('x-dynabus-error') ?? '';
  const isExpected = ['ServiceBusy', 'ServiceTimeout', 'TransactionAborted'].includes(code);
  assert.ok(isExpected, `${answer.status} ${answer.text}`);
  assert.equal(answer.headers.get('x-dynabus-retryable'), 'true');
}
