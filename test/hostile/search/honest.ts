import { setTimeout as pause } from 'node:timers/promises';
import {
  ServiceBusClient,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus';
import { administrationOf } from '../../interop/administration/admin-clients.ts';
import { addressed, plain } from '../../interop/gateway/gateway-clients.ts';

const PAUSE_MS = 100;
/** Whoever waits longer calls the service broken. */
const ANSWER_MS_MAX = 10_000;
/** So many messages over AMQP for one over HTTP. */
const AMQP_SHARE = 4;

/** Something that went wrong for the honest client. */
export interface Trouble {
  readonly message: string;
}

/**
 * A client with every right that sends a message, receives and completes it, and so on, at a low rate
 * over AMQP and HTTP, and tries nothing twice: each attempt must succeed, and bring what was sent.
 */
export class HonestClient {
  readonly #port: number;
  readonly #queues: readonly [string, string];
  readonly #client: ServiceBusClient;
  readonly #sender: ServiceBusSender;
  readonly #receiver: ServiceBusReceiver;
  readonly #running: Promise<void>;
  #troubles: Trouble[] = [];
  #done = 0;
  #slowestMs = 0;
  #isStopped = false;

  private constructor(port: number, name: string) {
    this.#port = port;
    this.#queues = [`${name}-amqp`, `${name}-http`];
    this.#client = new ServiceBusClient(plain(port), {
      retryOptions: { maxRetries: 0, timeoutInMs: ANSWER_MS_MAX },
    });
    this.#sender = this.#client.createSender(this.#queues[0]);
    this.#receiver = this.#client.createReceiver(this.#queues[0]);
    this.#running = this.#run();
  }

  /** Creates the queues, and begins. */
  static async start(port: number, name: string): Promise<HonestClient> {
    const admin = administrationOf(plain(port));
    for (const protocol of ['amqp', 'http']) await admin.createQueue(`${name}-${protocol}`);
    const client = new HonestClient(port, name);
    await client.onceMore();
    return client;
  }

  /** How many messages were sent, received and completed. */
  get done(): number {
    return this.#done;
  }

  /** The slowest of them, ms. */
  get slowestMs(): number {
    return this.#slowestMs;
  }

  /** Returns what went wrong since the last call. */
  takeTroubles(): readonly Trouble[] {
    return this.#troubles.splice(0);
  }

  /** Resolves once two more messages went through, or something went wrong. */
  async onceMore(): Promise<void> {
    const wanted = this.#done + 2;
    while (this.#done < wanted && this.#troubles.length === 0) await pause(PAUSE_MS / 4);
  }

  /** Stops; what is left in the queues then, or came twice, is a trouble. */
  async stop(): Promise<readonly Trouble[]> {
    this.#isStopped = true;
    await this.#running;
    await this.#attempt('nothing is left', async () => {
      const left = await this.#receiver.peekMessages(10);
      if (left.length > 0) throw new Error(`${left.length} messages are left over AMQP`);
      const answer = await this.#ask('POST', `${this.#queues[1]}/messages/head?timeout=0`);
      if (answer.status !== 204) throw new Error('a message is left over HTTP');
    });
    await this.abandon();
    return this.takeTroubles();
  }

  /** Stops without a look: the service has gone. */
  async abandon(): Promise<void> {
    this.#isStopped = true;
    await this.#client.close().catch(() => {});
  }

  async #run(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const overHttp = number % (AMQP_SHARE + 1) === AMQP_SHARE;
      const body = `message-${number}`;
      const startedAt = performance.now();
      const what = `${body} over ${overHttp ? 'HTTP' : 'AMQP'}`;
      await this.#attempt(what, () => (overHttp ? this.#overHttp(body) : this.#overAmqp(body)));
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedAt);
      await pause(PAUSE_MS);
    }
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#done++;
    } catch (error) {
      if (!this.#isStopped) this.#troubles.push({ message: `${what}: ${messageOf(error)}` });
    }
  }

  async #overAmqp(body: string): Promise<void> {
    await this.#sender.sendMessages({ body });
    const [message] = await this.#receiver.receiveMessages(1, { maxWaitTimeInMs: ANSWER_MS_MAX });
    if (message === undefined) throw new Error('what was sent did not come');
    await this.#receiver.completeMessage(message);
    if (message.body !== body) throw new Error(`${message.body} came`);
  }

  async #overHttp(body: string): Promise<void> {
    const path = `${this.#queues[1]}/messages`;
    const sent = await this.#ask('POST', path, body);
    if (sent.status !== 201) throw new Error(`${sent.status} ${await sent.text()}`);
    const received = await this.#ask('DELETE', `${path}/head?timeout=10`);
    const came = await received.text();
    if (received.status !== 200 || came !== body) throw new Error(`${received.status} ${came}`);
  }

  async #ask(method: string, path: string, body?: string): Promise<Response> {
    const { url, headers } = addressed(this.#port, path);
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    return await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.name}: ${error.message}${cause}`.slice(0, 300);
}
