import { connect, type Socket } from 'node:net';
import { codeOf } from '../../amqp/wire/descriptors.ts';
import { ListFields } from '../../amqp/wire/fields.ts';
import { encodeFrame, FrameReader, protocolHeader } from '../../amqp/wire/frames.ts';
import {
  type Performative,
  readPerformative,
  writePerformative,
} from '../../amqp/wire/performatives.ts';
import { type AmqpValue, binary, described, list, NULL, symbol } from '../../amqp/wire/value.ts';

/** Larger than any frame of the server. */
const FRAME_BYTES_MAX = 10_000_000;
const SASL_OUTCOME = 0x44n;

/** Output of the server: a performative, the SASL outcome, or the end of the connection. */
export type Said =
  | (Performative & { readonly payload?: Uint8Array })
  | { readonly kind: 'outcome'; readonly code: number | undefined }
  | { readonly kind: 'ended' };

/** A client that sends any performatives, well-formed or not, and reads those of the server. */
export class RawAmqp {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #heard: Said[] = [];
  /** The number of received frames, including empty ones. */
  framesHeard = 0;
  #wake = () => {};
  /** Chooses the encoding of each value. */
  spell = (value: AmqpValue) => value;
  readonly #layers: ('amqp' | 'sasl')[];
  #isHeaderThere = false;

  /** `layers` = the protocol layers that the server speaks, one after the other. */
  constructor(port: number, ...layers: ('amqp' | 'sasl')[]) {
    this.#layers = layers.length === 0 ? ['amqp'] : layers;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (bytes) => this.#take(bytes));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#heard.push({ kind: 'ended' });
      this.#wake();
    });
  }

  /** Opens a connection without SASL. */
  static open(port: number): RawAmqp {
    const client = new RawAmqp(port);
    client.write(protocolHeader('amqp'));
    client.say({ kind: 'open', containerId: 'raw', hostname: 'localhost' });
    return client;
  }

  /** Opens a connection with the name and key of a rule, and begins a session. */
  static authenticated(port: number, user: string, password: string): RawAmqp {
    return RawAmqp.opened(port, 'PLAIN', binary(Buffer.from(`\0${user}\0${password}`)));
  }

  /** Opens a connection with any SASL mechanism, and begins a session. */
  static opened(
    port: number,
    mechanism: string,
    response: AmqpValue = NULL,
    spell = (value: AmqpValue) => value,
  ): RawAmqp {
    const client = new RawAmqp(port, 'sasl', 'amqp');
    client.spell = spell;
    client.write(protocolHeader('sasl'));
    const init = list([symbol(mechanism), response]);
    client.write(encodeFrame('sasl', 0, spell(described(0x41n, init))));
    client.write(protocolHeader('amqp'));
    client.say({ kind: 'open', containerId: 'raw', hostname: 'localhost' });
    client.begin();
    return client;
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  say(performative: Performative, channel = 0, payload?: Uint8Array): void {
    const value = this.spell(writePerformative(performative));
    this.write(encodeFrame('amqp', channel, value, payload));
  }

  begin(channel = 0, incomingWindow = 100): void {
    const windows = { nextOutgoingId: 0, incomingWindow, outgoingWindow: 100 };
    this.say({ kind: 'begin', ...windows }, channel);
  }

  /** The server's next output of one of these kinds; skips all other output. */
  async hear<Kind extends Said['kind']>(
    ...kinds: readonly Kind[]
  ): Promise<Extract<Said, { kind: Kind }>> {
    for (;;) {
      const said = this.#heard.shift();
      if (said === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if ((kinds as readonly string[]).includes(said.kind)) {
        return said as Extract<Said, { kind: Kind }>;
      } else if (said.kind === 'ended') {
        throw new Error('The connection has ended.');
      }
    }
  }

  /** Whether the server has sent its protocol header. */
  get isGreeted(): boolean {
    return this.#isHeaderThere;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Uint8Array): void {
    this.#reader.push(bytes);
    for (;;) {
      this.#isHeaderThere ||= this.#reader.protocolHeader() !== undefined;
      const [layer = 'amqp'] = this.#layers;
      const frame = this.#isHeaderThere ? this.#reader.frame(layer, FRAME_BYTES_MAX) : undefined;
      if (frame === undefined) break;
      this.framesHeard++;
      if (frame.performative === undefined) continue;
      if (layer === 'amqp')
        this.#heard.push({ ...readPerformative(frame.performative), payload: frame.payload });
      else if (codeOf(frame.performative) === SASL_OUTCOME) {
        this.#heard.push({ kind: 'outcome', code: new ListFields(frame.performative).number(0) });
        this.#layers.shift();
        this.#isHeaderThere = this.#layers.length === 0;
      }
    }
    this.#wake();
  }
}
