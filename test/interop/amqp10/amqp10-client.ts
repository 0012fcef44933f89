import { once } from 'node:events';
import amqp10, {
  type Client,
  type Message,
  type Options,
  type Receiver,
  type TransferFrame,
} from 'amqp10';
import { ROOT_KEY } from '../../support/start-broker.ts';

/** A message as it came, with the frame that brought it. */
export interface Arrival {
  readonly message: Message;
  readonly frame: TransferFrame;
}

/** Bodies as they are, and what fails fails at once. */
const PLAIN = {
  defaultSubjects: false,
  reconnect: null,
  // Each message takes one of this window and none comes back; below zero it cannot be written.
  session: { options: { outgoingWindow: 1_000_000 } },
  // Its senders count from 0, whatever they announce.
  senderLink: { attach: { initialDeliveryCount: 0 } },
};

/** A receiver that asks for nothing by itself. */
export const NO_CREDIT: Options = { credit: amqp10.Policy.Utils.CreditPolicies.DoNotRefresh };

/** An address with the name of a rule and its key, as generic clients take it. */
export function url(port: number, user = 'RootManageSharedAccessKey', key: string = ROOT_KEY) {
  return `amqp://${encodeURIComponent(user)}:${encodeURIComponent(key)}@localhost:${port}`;
}

/**
 * Connects a client that shares no line with ours nor with `rhea`, which is under the official one:
 * two ends of one library hide each other's faults.
 */
export async function connect(address: string, policy: Options = {}): Promise<Client> {
  const client = new amqp10.Client(amqp10.Policy.merge({ ...PLAIN, ...policy }));
  await client.connect(address);
  return client;
}

/** A receiver that asks for messages one by one, unless told otherwise, and leaves their outcome open. */
export class Inbox {
  readonly receiver: Receiver;
  readonly #arrivals: Arrival[] = [];

  private constructor(receiver: Receiver) {
    this.receiver = receiver;
    receiver.on('message', (message: Message, frame: TransferFrame) => {
      this.#arrivals.push({ message, frame });
    });
  }

  static async open(
    client: Client,
    address: string,
    attach: Options = {},
    others: Options = NO_CREDIT,
  ): Promise<Inbox> {
    const options = { attach: { rcvSettleMode: 1, ...attach }, ...others };
    return new Inbox(await client.createReceiver(address, options));
  }

  /** How many came that nobody has asked for. */
  get waiting(): number {
    return this.#arrivals.length;
  }

  /** Gives credit for one message and waits for it. */
  async next(): Promise<Arrival> {
    this.receiver.addCredits(1);
    return await this.arrival();
  }

  /** The next message that comes by credit that was given. */
  async arrival(): Promise<Arrival> {
    for (;;) {
      const arrival = this.#arrivals.shift();
      if (arrival !== undefined) return arrival;
      await once(this.receiver, 'message');
    }
  }
}
