import { type Answer, type BenchClient, type Lock, prepareSend } from '../http-client.ts';
import type { ExpectedMessages, QueueClients, Receiving } from './queue-clients.ts';

/** A message as a receive of several returns it. */
interface ReceivedMessage {
  readonly Body: string;
  readonly BrokerProperties: { readonly LockToken: string };
}

interface LockedBody {
  readonly body: Uint8Array | string;
  readonly lock: Lock;
}

/** Clients over HTTP, each with a connection. A poll does not wait for messages. `http` is closed with them. */
export class HttpClients implements QueueClients {
  readonly #http: BenchClient;
  readonly #queue: string;
  readonly #clients: number;

  constructor(http: BenchClient, queue: string, clients: number) {
    this.#http = http;
    this.#queue = queue;
    this.#clients = clients;
  }

  async send(_client: number, bodies: readonly Buffer[]): Promise<void> {
    await this.#http.send(this.#queue, prepareSend(bodies, bodies.length > 1));
  }

  async receive(batch: number, expected: ExpectedMessages): Promise<Receiving> {
    let isStopped = false;
    const run = async () => {
      while (!isStopped) {
        const count = expected.seek(batch);
        if (count === 0) return;
        const messages = await this.#poll(batch);
        expected.sought(count, messages.length);
        await this.#complete(messages, expected);
      }
    };
    const runs = Promise.all(Array.from({ length: this.#clients }, run)).catch((error) =>
      expected.failed(error),
    );
    return {
      stop: async () => {
        isStopped = true;
        await runs;
      },
    };
  }

  async close(): Promise<void> {
    await this.#http.deleteQueue(this.#queue);
    this.#http.close();
  }

  /** Returns no message if there is none, or if the database is busy. */
  async #poll(batch: number): Promise<readonly LockedBody[]> {
    const many = batch === 1 ? '' : `&maxMessages=${batch}`;
    const path = `/${this.#queue}/messages/head?timeout=0${many}`;
    const answer = await this.#http.ask('POST', path);
    if (answer.status === 204 || answer.status === 503) return [];
    if (answer.status !== 201) throw unexpected('A receive', answer);
    if (batch > 1) {
      const messages = JSON.parse(String(answer.bytes)) as readonly ReceivedMessage[];
      return messages.map(({ Body, BrokerProperties: { LockToken } }) => ({
        body: Body,
        lock: { token: LockToken },
      }));
    }
    if (answer.location === undefined) throw new Error('A locked message has an address.');
    const lock = { address: new URL(answer.location).pathname };
    return [{ body: answer.bytes, lock }];
  }

  async #complete(messages: readonly LockedBody[], expected: ExpectedMessages): Promise<void> {
    const locks = messages.map(({ lock }) => lock);
    const [first] = locks;
    if (first === undefined) return;
    if ('address' in first) await this.#completeOne(first.address);
    else await this.#http.complete(this.#queue, locks);
    for (const { body } of messages) expected.completed(body);
  }

  async #completeOne(address: string): Promise<void> {
    for (;;) {
      const answer = await this.#http.ask('DELETE', address);
      if (answer.status === 200) return;
      // The database is busy, and the client tries again.
      if (answer.status !== 503) throw unexpected('A completion', answer);
    }
  }
}

function unexpected(what: string, { status, bytes }: Answer): Error {
  return new Error(`${what} answered ${status}: ${bytes}`);
}
