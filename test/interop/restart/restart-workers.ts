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
import { bodyOf, type RestartBook } from './restart-ledger.ts';

const NO_RENEWAL = { maxAutoLockRenewalDurationInMs: 0 };
/** A sender's rest after each send, at most: the server is to be asked, not overrun. */
const REST_MS_MAX = 1000;
const REST_AFTER_ERROR_MS = 250;
/** Those who wait take turns, and who asks anew stands at the end: nobody should ask often. */
const WAIT_MS_MAX = 10_000;
/** New sessions must keep coming: those of receivers that were cut off stay locked. */
const SESSION_MESSAGES = 10;
const SESSION_MS_MAX = 5000;
const FORGET_SHARE = 0.1;

/** What one client is there for, and where. */
export interface Task {
  readonly role: 'send' | 'pull' | 'subscribe' | 'session' | 'take';
  readonly entity: string;
  /** Of a topic; `entity` is the topic then. */
  readonly subscription?: string;
}

export interface CrewParts {
  readonly connectionString: string;
  readonly book: RestartBook;
  readonly random: LoadRandom;
  /** After that time, a client tries again what it has heard nothing of. */
  readonly tryMs: number;
}

/** Connects. A client must bridge the time without a server by itself. */
export function connect(connectionString: string, timeoutInMs: number): ServiceBusClient {
  const options = { mode: RetryMode.Fixed, maxRetries: 100, retryDelayInMs: 250, timeoutInMs };
  return new ServiceBusClient(connectionString, { retryOptions: options });
}

/**
 * Clients of the vendor, each on a connection of its own, that go on with their task until they are
 * told to stop, whatever becomes of the server. They are made once.
 */
export class Crew {
  readonly #parts: CrewParts;
  readonly #clients: ServiceBusClient[] = [];
  readonly #loops: Promise<void>[] = [];
  readonly #stop = new AbortController();
  readonly #idle = new Set<string>();
  readonly #names: string[] = [];
  /** What clients were told meanwhile, by its code. */
  readonly errors = new Map<string, number>();
  isSending = true;
  /** Whether receivers let a lock run out now and then. */
  forgets = true;
  #sent = 0;
  #ends = 0;
  /** How often the server had ended when a message came. */
  readonly #endsBefore = new WeakMap<ServiceBusReceivedMessage, number>();
  #onWork = () => {};

  constructor(parts: CrewParts, tasks: readonly Task[]) {
    this.#parts = parts;
    setMaxListeners(0, this.#stop.signal);
    for (const [number, task] of tasks.entries()) this.#begin(`${task.role}-${number}`, task);
  }

  /** Resolves once every client has done its task, from now on. Fails with those that have not. */
  async untilAllWorked(msMax: number): Promise<void> {
    for (const name of this.#names) this.#idle.add(name);
    const deadline = performance.now() + msMax;
    while (this.#idle.size > 0) {
      if (performance.now() > deadline)
        throw new Error(`Of no use any more: ${[...this.#idle].join(', ')}`);
      await this.#work();
    }
  }

  /** The server has ended: what is answered from now on is answered by another. */
  serverEnded(): void {
    this.#ends++;
  }

  async untilSent(count: number, msMax: number): Promise<void> {
    const deadline = performance.now() + msMax;
    const { book } = this.#parts;
    while (book.sentCount < count) {
      if (performance.now() > deadline)
        throw new Error(`Only ${book.sentCount} messages could be sent.`);
      await this.#work();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  /** Resolves at the next piece of work that any client has done, or after a second without. */
  #work(): Promise<void> {
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
    const client = connect(this.#parts.connectionString, this.#parts.tryMs);
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
      case 'take': {
        const receiver = client.createReceiver(task.entity, { receiveMode: 'receiveAndDelete' });
        return async () => {
          for (const message of await this.#receive(receiver)) {
            this.#parts.book.removed(task.entity, message);
            this.#worked(name);
          }
        };
      }
      default:
        return () => this.#workInSession(name, client, task.entity);
    }
  }

  /** Whatever a turn ends with, the next one follows: so do applications. */
  async #repeat(turn: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await turn();
      } catch (error) {
        this.#tell(error);
        await delay(REST_AFTER_ERROR_MS);
      }
    }
  }

  async #send(
    name: string,
    entity: string,
    send: (messages: ServiceBusMessage[]) => Promise<void>,
  ): Promise<void> {
    const { book, random } = this.#parts;
    await delay(random.below(REST_MS_MAX));
    if (!this.isSending) return;
    const ids = Array.from({ length: random.between(1, 3) }, () => `${entity}:${this.#sent++}`);
    const session = { sessionId: `session-${Math.floor(this.#sent / SESSION_MESSAGES)}` };
    book.sending(ids);
    await send(
      ids.map((messageId) => ({
        messageId,
        body: bodyOf(messageId),
        ...(entity === 'in-sessions' ? session : {}),
      })),
    );
    book.sent(ids);
    this.#worked(name);
  }

  async #pull(name: string, receiver: ServiceBusReceiver, entity: string): Promise<void> {
    const { book, random } = this.#parts;
    const messages = await this.#receive(receiver);
    for (const message of messages) this.#came(message);
    for (const message of messages) book.locked(entity, message);
    for (const message of messages) {
      this.#worked(name);
      if (this.forgets && random.chance(FORGET_SHARE)) continue;
      await this.#complete(receiver, message, entity);
    }
  }

  #subscribe(name: string, receiver: ServiceBusReceiver, entity: string): void {
    const { book } = this.#parts;
    receiver.subscribe(
      {
        processMessage: async (message) => {
          this.#came(message);
          book.locked(entity, message);
          this.#worked(name);
          await this.#complete(receiver, message, entity);
        },
        processError: async ({ error }) => this.#tell(error),
      },
      { autoCompleteMessages: false, maxConcurrentCalls: 1 },
    );
  }

  async #workInSession(name: string, client: ServiceBusClient, entity: string): Promise<void> {
    // What is lost with its connection just then is waited for by the client for a minute: a claim
    // (`sendRequest` of @azure/core-amqp) or an attach (`createReceiver` of rhea-promise).
    const acceptMs = 2 * this.#parts.tryMs;
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
    // Whoever ends a link while the connection goes never hears of it (`close` of rhea-promise).
    await Promise.race([work, delay(SESSION_MS_MAX)]);
  }

  async #completeSome(
    name: string,
    session: ServiceBusSessionReceiver,
    entity: string,
  ): Promise<void> {
    const { book } = this.#parts;
    try {
      const wait = { maxWaitTimeInMs: 2000 };
      const messages = await session.receiveMessages(1, wait);
      for (const message of messages) this.#came(message);
      for (const message of messages) book.inSession(entity, message);
      for (const message of messages) {
        this.#worked(name);
        await this.#complete(session, message, entity);
      }
    } finally {
      await session.close();
    }
  }

  #came(message: ServiceBusReceivedMessage): void {
    this.#endsBefore.set(message, this.#ends);
  }

  async #complete(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    entity: string,
  ): Promise<void> {
    const { book } = this.#parts;
    book.completing(entity, message);
    await receiver.completeMessage(message);
    // The client keeps outcomes by the number of the delivery, and these begin anew with each link
    // (`onMessageSettled` of its receivers): what came before an end may get the outcome of another one.
    if (this.#endsBefore.get(message) === this.#ends) book.completed(entity, message);
  }

  #receive(receiver: ServiceBusReceiver) {
    return receiver.receiveMessages(1, {
      maxWaitTimeInMs: WAIT_MS_MAX,
      abortSignal: this.#stop.signal,
    });
  }

  #tell(error: unknown): void {
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

/** What the book calls the entity of a task. */
export function keyOf({ entity, subscription }: Pick<Task, 'entity' | 'subscription'>): string {
  return subscription === undefined ? entity : `${entity}/${subscription}`;
}
