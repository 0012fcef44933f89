import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  RetryMode,
  ServiceBusClient,
  type ServiceBusMessage,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSessionReceiver,
} from '@azure/service-bus';
import type { LoadRandom } from '../../support/load-random.ts';
import { bodyOf, type RestartLedger } from './restart-ledger.ts';

const NO_RENEWAL = { maxAutoLockRenewalDurationInMs: 0 };
/** The longest pause of a sender after each send, so that the server is busy and not overloaded. */
const REST_MS_MAX = 1000;
const REST_AFTER_ERROR_MS = 250;
/** Long, because waiting receivers are served in turns, and one that asks again goes to the end of the line. */
const WAIT_MS_MAX = 10_000;
/** Messages per session. New sessions must follow, because those of receivers that were cut off stay locked. */
const SESSION_MESSAGES = 10;
const SESSION_MS_MAX = 5000;
const EXPIRE_SHARE = 0.1;

/** The work of one client, and its entity. */
export interface Task {
  readonly role: 'send' | 'pull' | 'subscribe' | 'session' | 'receiveAndDelete';
  readonly entity: string;
  /** The subscription; `entity` is then its topic. */
  readonly subscription?: string;
}

/** What all workers share. */
export interface WorkerSettings {
  readonly connectionString: string;
  readonly ledger: RestartLedger;
  readonly random: LoadRandom;
  /** How long a client waits for an answer before it retries, ms. */
  readonly tryMs: number;
}

/** Creates a client with enough retries for the time without a server. */
export function connect(connectionString: string, timeoutInMs: number): ServiceBusClient {
  const options = { mode: RetryMode.Fixed, maxRetries: 100, retryDelayInMs: 250, timeoutInMs };
  return new ServiceBusClient(connectionString, { retryOptions: options });
}

/**
 * The vendor's clients, each on its own connection. They repeat their tasks until `close`, also while the
 * server is down, and are never created anew.
 */
export class Workers {
  readonly #settings: WorkerSettings;
  readonly #clients: ServiceBusClient[] = [];
  readonly #loops: Promise<void>[] = [];
  readonly #stop = new AbortController();
  readonly #idle = new Set<string>();
  readonly #names: string[] = [];
  /** The errors of the clients: how many, by code. */
  readonly errors = new Map<string, number>();
  isSending = true;
  /** Whether receivers sometimes let a lock expire. */
  letsLocksExpire = true;
  #sent = 0;
  #ends = 0;
  /** How often the server had ended when a message was received. */
  readonly #endsBefore = new WeakMap<ServiceBusReceivedMessage, number>();
  #onWork = () => {};

  constructor(settings: WorkerSettings, tasks: readonly Task[]) {
    this.#settings = settings;
    setMaxListeners(0, this.#stop.signal);
    for (const [number, task] of tasks.entries()) this.#begin(`${task.role}-${number}`, task);
  }

  /** Resolves when every client has done its task once from now on. Rejects with the names of the others. */
  async untilAllWorked(msMax: number): Promise<void> {
    for (const name of this.#names) this.#idle.add(name);
    const deadline = performance.now() + msMax;
    while (this.#idle.size > 0) {
      if (performance.now() > deadline)
        throw new Error(`These clients no longer work: ${[...this.#idle].join(', ')}`);
      await this.#nextWork();
    }
  }

  /** Call when the server has ended: later answers come from the next server. */
  serverEnded(): void {
    this.#ends++;
  }

  async untilSent(count: number, msMax: number): Promise<void> {
    const deadline = performance.now() + msMax;
    const { ledger } = this.#settings;
    while (ledger.sentCount < count) {
      if (performance.now() > deadline)
        throw new Error(`Only ${ledger.sentCount} messages were sent.`);
      await this.#nextWork();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  /** Resolves when any client has done some work, or after a second. */
  #nextWork(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWork = resolve;
      setTimeout(resolve, 1000).unref();
    });
  }

  #worked(name: string): void {
    this.#idle.delete(name);
    this.#onWork();
  }

  #begin(name: string, task: Task): void {
    const client = connect(this.#settings.connectionString, this.#settings.tryMs);
    this.#clients.push(client);
    this.#names.push(name);
    if (task.role === 'subscribe') this.#subscribe(name, receiverOf(client, task), keyOf(task));
    else this.#loops.push(this.#repeat(this.#turnOf(name, client, task)));
  }

  #turnOf(name: string, client: ServiceBusClient, task: Task): () => Promise<void> {
    switch (task.role) {
      case 'send': {
        const sender = client.createSender(task.entity);
        return () => this.#send(name, task.entity, (messages) => sender.sendMessages(messages));
      }
      case 'pull': {
        const receiver = receiverOf(client, task);
        return () => this.#pull(name, receiver, keyOf(task));
      }
      case 'receiveAndDelete': {
        const receiver = client.createReceiver(task.entity, { receiveMode: 'receiveAndDelete' });
        return async () => {
          for (const message of await this.#receive(receiver)) {
            this.#settings.ledger.removed(task.entity, message);
            this.#worked(name);
          }
        };
      }
      default:
        return () => this.#workInSession(name, client, task.entity);
    }
  }

  /** Repeats a turn until `close`, also after an error, as applications do. */
  async #repeat(turn: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await turn();
      } catch (error) {
        this.#countError(error);
        await delay(REST_AFTER_ERROR_MS);
      }
    }
  }

  async #send(
    name: string,
    entity: string,
    send: (messages: ServiceBusMessage[]) => Promise<void>,
  ): Promise<void> {
    const { ledger, random } = this.#settings;
    await delay(random.below(REST_MS_MAX));
    if (!this.isSending) return;
    const ids = Array.from({ length: random.between(1, 3) }, () => `${entity}:${this.#sent++}`);
    const session = { sessionId: `session-${Math.floor(this.#sent / SESSION_MESSAGES)}` };
    ledger.sending(ids);
    await send(
      ids.map((messageId) => ({
        messageId,
        body: bodyOf(messageId),
        ...(entity === 'in-sessions' ? session : {}),
      })),
    );
    ledger.sent(ids);
    this.#worked(name);
  }

  async #pull(name: string, receiver: ServiceBusReceiver, entity: string): Promise<void> {
    const { ledger, random } = this.#settings;
    const messages = await this.#receive(receiver);
    for (const message of messages) this.#noteServer(message);
    for (const message of messages) ledger.locked(entity, message);
    for (const message of messages) {
      this.#worked(name);
      if (this.letsLocksExpire && random.chance(EXPIRE_SHARE)) continue;
      await this.#complete(receiver, message, entity);
    }
  }

  #subscribe(name: string, receiver: ServiceBusReceiver, entity: string): void {
    const { ledger } = this.#settings;
    receiver.subscribe(
      {
        processMessage: async (message) => {
          this.#noteServer(message);
          ledger.locked(entity, message);
          this.#worked(name);
          await this.#complete(receiver, message, entity);
        },
        processError: async ({ error }) => this.#countError(error),
      },
      { autoCompleteMessages: false, maxConcurrentCalls: 1 },
    );
  }

  async #workInSession(name: string, client: ServiceBusClient, entity: string): Promise<void> {
    // The client waits a minute for the answer to a claim (`sendRequest` of @azure/core-amqp) or an attach
    // (`createReceiver` of rhea-promise) that was lost with its connection.
    const acceptMs = 2 * this.#settings.tryMs;
    const abortSignal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(acceptMs)]);
    const accepting = client.acceptNextSession(entity, { ...NO_RENEWAL, abortSignal });
    const session = await Promise.race([accepting, delay(acceptMs)]);
    if (session === undefined) {
      accepting.then(
        (late) => late.close(),
        () => {},
      );
      return;
    }
    const work = this.#completeSome(name, session, entity);
    // `close` of rhea-promise never resolves for a link that it closes while the connection ends.
    await Promise.race([work, delay(SESSION_MS_MAX)]);
  }

  async #completeSome(
    name: string,
    session: ServiceBusSessionReceiver,
    entity: string,
  ): Promise<void> {
    const { ledger } = this.#settings;
    try {
      const wait = { maxWaitTimeInMs: 2000 };
      const messages = await session.receiveMessages(1, wait);
      for (const message of messages) this.#noteServer(message);
      for (const message of messages) ledger.inSession(entity, message);
      for (const message of messages) {
        this.#worked(name);
        await this.#complete(session, message, entity);
      }
    } finally {
      await session.close();
    }
  }

  /** Notes from which start of the server a message comes. */
  #noteServer(message: ServiceBusReceivedMessage): void {
    this.#endsBefore.set(message, this.#ends);
  }

  async #complete(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    entity: string,
  ): Promise<void> {
    const { ledger } = this.#settings;
    ledger.completing(entity, message);
    await receiver.completeMessage(message);
    // The client stores outcomes by delivery number, and the numbers start again with each link
    // (`onMessageSettled` of its receivers). So a message of an earlier server may get the outcome of another
    // message, and its completion is not certain.
    if (this.#endsBefore.get(message) === this.#ends) ledger.completed(entity, message);
  }

  #receive(receiver: ServiceBusReceiver) {
    return receiver.receiveMessages(1, {
      maxWaitTimeInMs: WAIT_MS_MAX,
      abortSignal: this.#stop.signal,
    });
  }

  #countError(error: unknown): void {
    const { code, name, message } = error as { code?: string; name?: string; message?: string };
    const what = String(code ?? `${name}: ${message}`);
    if (!this.#stop.signal.aborted) this.errors.set(what, (this.errors.get(what) ?? 0) + 1);
  }
}

function receiverOf(client: ServiceBusClient, { entity, subscription }: Task): ServiceBusReceiver {
  return subscription === undefined
    ? client.createReceiver(entity, NO_RENEWAL)
    : client.createReceiver(entity, subscription, NO_RENEWAL);
}

/** The name of a task's entity in the ledger. */
export function keyOf({ entity, subscription }: Pick<Task, 'entity' | 'subscription'>): string {
  return subscription === undefined ? entity : `${entity}/${subscription}`;
}
