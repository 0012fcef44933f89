import { SECTION, writeSections } from '../../amqp/messages/sections.ts';
import type { Disposition, Performative, Transfer } from '../../amqp/wire/performatives.ts';
import { ACCEPTED } from '../../amqp/wire/states.ts';
import { binary, described, list, str } from '../../amqp/wire/value.ts';
import { RawAmqp, type Said } from '../../test/support/raw-amqp.ts';
import type { ExpectedMessages, QueueClients, Receiving } from './queue-clients.ts';

const SENDER = 0;
const RECEIVER = 1;
/** Of every message of a ledger. */
const BODY_BYTES = 200;
const SESSION_WINDOW = 0x7fffffff;
/** Credit is given back in portions, as clients do, so that not each message has a flow frame of its own. */
const CREDIT_PORTIONS = 10;

/** A send that waits for its outcome. */
interface Sending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A client of frames only, on one connection with one session, so that the measurement shows the server and little of
 * the client. As many sends are under way as there are clients; the receiver has as much credit, settles each message
 * on its own, and counts a message as completed when the server has confirmed it.
 */
export class RawClients implements QueueClients {
  readonly #raw: RawAmqp;
  readonly #queue: string;
  readonly #clients: number;
  readonly #sendings = new Map<number, Sending>();
  /** Bodies of the deliveries that are not settled yet. */
  readonly #locked = new Map<number, Uint8Array>();
  #sentDeliveries = 0;
  #receivedDeliveries = 0;
  /** Messages that the server may still push. */
  #credit = 0;
  #expected: ExpectedMessages | undefined;
  /** Why the conversation has ended. */
  #ended: Error | undefined;
  /** Resolves when the connection has ended. */
  #listening: Promise<void> | undefined;
  /** Called when the server has closed the link for receiving, as it was asked to. */
  #detached: (() => void) | undefined;

  private constructor(raw: RawAmqp, queue: string, clients: number) {
    this.#raw = raw;
    this.#queue = queue;
    this.#clients = clients;
  }

  /** Connects, and opens the link for sending. */
  static async open(connectionString: string, queue: string, clients: number): Promise<RawClients> {
    const { port, keyName, key } = addressOf(connectionString);
    const raw = RawAmqp.authenticated(port, keyName, key);
    await raw.hear('begin');
    const opened = new RawClients(raw, queue, clients);
    opened.#attach('sender', SENDER);
    await raw.hear('flow');
    opened.#listening = opened.#listen();
    return opened;
  }

  async send(_client: number, bodies: readonly Buffer[]): Promise<void> {
    await Promise.all(bodies.map((body) => this.#sendOne(body)));
  }

  async receive(_batch: number, expected: ExpectedMessages): Promise<Receiving> {
    this.#expected = expected;
    this.#locked.clear();
    this.#receivedDeliveries = 0;
    this.#attach('receiver', RECEIVER);
    this.#giveCredit();
    return {
      stop: async () => {
        this.#expected = undefined;
        this.#raw.say({ kind: 'detach', handle: RECEIVER, closed: true });
        await new Promise<void>((resolve) => {
          this.#detached = resolve;
        });
      },
    };
  }

  async close(): Promise<void> {
    this.#raw.say({ kind: 'close' });
    await this.#listening;
    this.#raw.destroy();
  }

  #attach(role: 'sender' | 'receiver', handle: number): void {
    const [source, target] = role === 'sender' ? ['here', this.#queue] : [this.#queue, 'here'];
    this.#raw.say({
      kind: 'attach',
      name: `bench-${role}`,
      handle,
      role,
      // Peek-lock: a message is settled once the server has confirmed its completion.
      ...(role === 'sender' ? { initialDeliveryCount: 0 } : { receiverSettleMode: 1 }),
      source: described(0x28n, list([str(source)])),
      target: described(0x29n, list([str(target)])),
    });
  }

  #sendOne(body: Buffer): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const deliveryId = this.#sentDeliveries++;
    const deliveryTag = Buffer.alloc(4);
    deliveryTag.writeUInt32BE(deliveryId);
    const payload = writeSections({ body: [described(SECTION.data, binary(body))] });
    const outcome = new Promise<void>((resolve, reject) => {
      this.#sendings.set(deliveryId, { resolve, reject });
    });
    const transfer: Performative = { kind: 'transfer', handle: SENDER, deliveryId, deliveryTag };
    this.#raw.say(transfer, 0, payload);
    return outcome;
  }

  #giveCredit(): void {
    this.#credit = this.#clients - this.#locked.size;
    this.#raw.say({
      kind: 'flow',
      nextIncomingId: 0,
      incomingWindow: SESSION_WINDOW,
      nextOutgoingId: this.#sentDeliveries,
      outgoingWindow: SESSION_WINDOW,
      handle: RECEIVER,
      deliveryCount: this.#receivedDeliveries,
      linkCredit: this.#credit,
    });
  }

  async #listen(): Promise<void> {
    try {
      for (;;) {
        const said = await this.#raw.hear(
          'transfer',
          'disposition',
          'detach',
          'end',
          'close',
          'ended',
        );
        if (said.kind === 'transfer') this.#onTransfer(said);
        else if (said.kind === 'disposition') this.#onDisposition(said);
        else if (said.kind === 'detach' && this.#detached !== undefined) this.#detached();
        else throw new Error(`The server has ended the conversation: ${JSON.stringify(said)}`);
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #onTransfer({ deliveryId, payload }: Transfer & Extract<Said, { kind: 'transfer' }>): void {
    if (deliveryId === undefined || payload === undefined) {
      throw new Error('A message of this size has one frame.');
    }
    this.#receivedDeliveries++;
    this.#credit--;
    // The body is the last section of the message.
    this.#locked.set(deliveryId, payload.subarray(-BODY_BYTES));
    const settlement = { kind: 'disposition', role: 'receiver', first: deliveryId } as const;
    this.#raw.say({ ...settlement, settled: false, state: ACCEPTED });
  }

  #onDisposition({ role, first, last = first, state }: Disposition): void {
    if (state?.kind !== 'accepted') throw new Error(`Not accepted: ${JSON.stringify(state)}`);
    for (let id = first; id <= last; id++) {
      // The role is that of the server: it receives what is sent here.
      if (role === 'receiver') {
        this.#sendings.get(id)?.resolve();
        this.#sendings.delete(id);
      } else {
        this.#expected?.completed(this.#locked.get(id) ?? '');
        this.#locked.delete(id);
      }
    }
    // The link for receiving may be closing; then nobody expects messages.
    if (role === 'receiver' || this.#expected === undefined) return;
    const missing = this.#clients - this.#locked.size - this.#credit;
    if (missing * CREDIT_PORTIONS >= this.#clients) this.#giveCredit();
  }

  /** What was under way fails, and what is sent from now on. */
  #fail(error: Error): void {
    this.#ended = error;
    for (const { reject } of this.#sendings.values()) reject(error);
    this.#sendings.clear();
    this.#expected?.failed(error);
  }
}

/** The parts of a connection string. */
function addressOf(connectionString: string) {
  const parts = new Map(
    connectionString.split(';').map((part) => {
      const at = part.indexOf('=');
      return [part.slice(0, at), part.slice(at + 1)] as const;
    }),
  );
  return {
    port: Number(new URL(parts.get('Endpoint') ?? '').port),
    keyName: parts.get('SharedAccessKeyName') ?? '',
    key: parts.get('SharedAccessKey') ?? '',
  };
}
