import {
  ServiceBusClient,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus';
import type { ExpectedMessages, QueueClients, Receiving } from './queue-clients.ts';

/**
 * The official client on one connection. A client of the benchmark is a call under way: `subscribe` has as many calls
 * at a time as there are clients. With batches, each client has a receiver of its own, with as many calls at a time as
 * a batch has messages.
 */
export class AmqpClients implements QueueClients {
  readonly #bus: ServiceBusClient;
  readonly #sender: ServiceBusSender;
  readonly #queue: string;
  readonly #clients: number;

  constructor(connectionString: string, queue: string, clients: number) {
    this.#bus = new ServiceBusClient(connectionString);
    this.#sender = this.#bus.createSender(queue);
    this.#queue = queue;
    this.#clients = clients;
  }

  /** Opens the link for sending, so that this is not measured. */
  async open(): Promise<this> {
    await this.#sender.createMessageBatch();
    return this;
  }

  async send(_client: number, bodies: readonly Buffer[]): Promise<void> {
    await this.#sender.sendMessages(bodies.map((body) => ({ body })));
  }

  async receive(batch: number, expected: ExpectedMessages): Promise<Receiving> {
    const [receivers, calls] = batch === 1 ? [1, this.#clients] : [this.#clients, batch];
    const all = Array.from({ length: receivers }, () => this.#subscribe(calls, expected));
    return {
      stop: async () => {
        await Promise.all(all.map((stop) => stop()));
      },
    };
  }

  async close(): Promise<void> {
    await this.#bus.close();
  }

  #subscribe(calls: number, expected: ExpectedMessages): () => Promise<void> {
    let isStopped = false;
    const receiver: ServiceBusReceiver = this.#bus.createReceiver(this.#queue, {
      skipParsingBodyAsJson: true,
    });
    const fail = (error: unknown) => {
      // Calls that are under way when the receiver is closed fail.
      if (!isStopped) expected.failed(error);
    };
    receiver.subscribe(
      {
        processMessage: async (message) => {
          await receiver.completeMessage(message);
          expected.completed(message.body as Buffer);
        },
        processError: async ({ error }) => fail(error),
      },
      { maxConcurrentCalls: calls, autoCompleteMessages: false },
    );
    return async () => {
      isStopped = true;
      await receiver.close();
    };
  }
}
