import type { TestContext } from 'node:test';
import type { ConnectionOptions } from '../../amqp/endpoint/connection.ts';
import { InputTurns } from '../../amqp/endpoint/input-turns.ts';
import { readSections, SECTION, writeSections } from '../../amqp/messages/sections.ts';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { encodeFrame, FrameReader, protocolHeader } from '../../amqp/wire/frames.ts';
import {
  type Attach,
  type Performative,
  readPerformative,
  writePerformative,
} from '../../amqp/wire/performatives.ts';
import {
  binary,
  described,
  fieldsOf,
  list,
  mapOf,
  NULL,
  numberOf,
  str,
  symbol,
} from '../../amqp/wire/value.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import type { RuleManagement } from '../../shared/broker/management/rules.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { QUEUE_DEFAULTS } from '../../shared/domain/entities/descriptions.ts';
import { fakeEntity, findableEntities, httpDependencies, rule } from './http-fixture.ts';
import { sourceOf, targetOf } from './raw-session.ts';

const FRAME_BYTES_MAX = 1_000_000;
const WINDOW = 0x7fffffff;

/** Options of a connection without a gateway. */
export const connectionOptions = (
  containerId: string,
  memory: MemoryBudget,
): ConnectionOptions => ({
  containerId,
  scheduler: realScheduler,
  turns: new InputTurns(realScheduler),
  memory,
});

/** The queue `q` behind a gateway, with its rules `sender` and `listener`; the namespace has `root`. */
export class GatewayFixture {
  readonly memory = new MemoryBudget(1e9);
  readonly faults: unknown[] = [];
  /** The key of every entity read so far. */
  readonly reads: string[] = [];
  readonly gateway: AmqpServer;
  readonly broker: Broker;
  #areHeld = false;
  #held: (() => void)[] = [];
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
    const authorizationRules = [rule('sender', 'Send'), rule('listener', 'Listen')];
    const entities = findableEntities({
      q: fakeEntity('q', { ...QUEUE_DEFAULTS, authorizationRules }),
    });
    const find = async (key: string) => {
      this.reads.push(key);
      if (this.#areHeld) await new Promise<void>((resolve) => this.#held.push(resolve));
      return await entities.find(key);
    };
    const dependencies = httpDependencies({ memory: this.memory, entities: { ...entities, find } });
    this.broker = dependencies.broker;
    this.gateway = new AmqpServer({
      ...dependencies,
      rules: {} as RuleManagement,
      scheduler: realScheduler,
      reportFault: (fault) => this.faults.push(fault),
    });
  }

  /** From now on reads of entities wait for `releaseReads`. */
  holdReads(): void {
    this.#areHeld = true;
  }

  /** Answers the reads that wait now. */
  releaseReads(): void {
    const held = this.#held;
    this.#held = [];
    for (const resolve of held) resolve();
  }

  /** A peer with an open connection and a session: unauthorized, or with the name and key of a rule. */
  async peer(name?: string, key = `${name}-primary`): Promise<AmqpPeer> {
    const peer = new AmqpPeer(this.gateway);
    this.#t.after(() => peer.lost());
    if (name !== undefined) {
      const init = list([symbol('PLAIN'), binary(Buffer.from(`\0${name}\0${key}`))]);
      peer.take(protocolHeader('sasl'), encodeFrame('sasl', 0, described(0x41n, init)));
      await turns();
    }
    peer.take(protocolHeader('amqp'));
    peer.say({ kind: 'open', containerId: 'peer', hostname: 'localhost' });
    peer.say({ kind: 'begin', nextOutgoingId: 0, incomingWindow: WINDOW, outgoingWindow: 100 });
    await turns();
    return peer;
  }
}

/** Waits `count` turns of the event loop, so that pending work proceeds. */
export async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

/** A peer without a socket: the connection gets its bytes at once, unless it is paused. */
export class AmqpPeer {
  readonly heard: Performative[] = [];
  /** Status codes of the responses to requests. */
  readonly statuses: (number | undefined)[] = [];
  readonly connection: ReturnType<AmqpServer['accept']>;
  readonly #unread: Uint8Array[] = [];
  readonly #reader = new FrameReader();
  #layer: 'amqp' | 'sasl' | undefined;
  #deliveries = 0;
  /** Whether further frames of the current message follow. */
  #isPart = false;
  isPaused = false;

  /** The unread bytes of the peer, which the test sets; while it is above 0, writes do not complete. */
  backlog = 0;
  /** Called after each write. */
  onWrite: () => void = () => {};
  #untaken: (() => void)[] = [];

  constructor(gateway: Pick<AmqpServer, 'accept'>) {
    const peer = this;
    this.connection = gateway.accept({
      get backlog() {
        return peer.backlog;
      },
      write: (bytes, written) => {
        this.#hear(bytes);
        this.onWrite();
        if (this.backlog > 0) this.#untaken.push(written);
        else setImmediate(written);
      },
      pause: () => {
        this.isPaused = true;
      },
      resume: () => {
        this.isPaused = false;
        setImmediate(() => this.#pump());
      },
      end: () => {},
      destroy: () => {},
    });
  }

  /** All performatives of one kind from the server. */
  said<Kind extends Performative['kind']>(kind: Kind): Extract<Performative, { kind: Kind }>[] {
    return this.heard.filter(
      (one): one is Extract<Performative, { kind: Kind }> => one.kind === kind,
    );
  }

  /** Sends each argument as a chunk of its own. */
  take(...chunks: readonly Uint8Array[]): void {
    this.#unread.push(...chunks);
    this.#pump();
  }

  say(performative: Performative, payload?: Uint8Array): void {
    this.take(encodeFrame('amqp', 0, writePerformative(performative), payload));
  }

  /** Attaches to a node; a receiver's target has the address `answers`. */
  attach(
    handle: number,
    role: Attach['role'],
    address: string,
    { answers = 'answers', name = `l${handle}` } = {},
  ): void {
    this.take(attachFrame(handle, role, address, { answers, name }));
  }

  /** Gives an outgoing link of the server credit. */
  credit(handle: number): void {
    const windows = { incomingWindow: WINDOW, nextOutgoingId: 0, outgoingWindow: 100 };
    this.say({ kind: 'flow', ...windows, handle, deliveryCount: 0, linkCredit: 1000 });
  }

  /** Sends a request on a link. */
  request(handle: number, payload: Uint8Array): void {
    const deliveryId = this.#deliveries++;
    this.say({ kind: 'transfer', handle, deliveryId, deliveryTag: Buffer.of(1) }, payload);
  }

  /** Puts a token on a link to `$cbs`. */
  putToken(handle: number, token: string, address: string): void {
    const fields = {
      operation: str('put-token'),
      type: str('servicebus.windows.net:sastoken'),
      name: str(address),
    };
    const payload = writeSections({
      properties: list([str('m'), NULL, NULL, NULL, str('answers')]),
      applicationProperties: mapOf(fields),
      body: [described(SECTION.value, str(token))],
    });
    this.request(handle, payload);
  }

  /** Completes all writes. */
  takeAll(): void {
    this.backlog = 0;
    for (const written of this.#untaken.splice(0)) written();
  }

  lost(): void {
    this.connection.transportClosed();
  }

  #pump(): void {
    while (!this.isPaused) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) break;
      this.connection.input(chunk);
    }
  }

  #hear(bytes: Uint8Array): void {
    this.#reader.push(bytes);
    for (;;) {
      // A second protocol header follows the SASL outcome.
      this.#layer ??= this.#reader.length >= 8 ? this.#reader.protocolHeader() : undefined;
      if (this.#layer === undefined) break;
      const frame = this.#reader.frame(this.#layer, FRAME_BYTES_MAX);
      if (frame === undefined) break;
      if (frame.performative === undefined) continue;
      if (this.#layer === 'sasl') {
        const { performative } = frame;
        const isOutcome =
          performative.type === 'described' && numberOf(performative.descriptor) === 0x44;
        if (isOutcome) this.#layer = undefined;
        continue;
      }
      const said = readPerformative(frame.performative);
      this.heard.push(said);
      if (said.kind === 'transfer') this.#took(frame.payload, said.more === true);
    }
  }

  #took(payload: Uint8Array, isMore: boolean): void {
    const isPart = isMore || this.#isPart;
    this.#isPart = isMore;
    // A response that is divided among frames is ignored.
    if (isPart) return;
    const fields = fieldsOf(readSections(payload).applicationProperties);
    this.statuses.push(numberOf(fields.get('statusCode') ?? fields.get('status-code')));
  }
}

/** The frame of an attach, with the given texts unchanged. */
export function attachFrame(
  handle: number,
  role: Attach['role'],
  address: string,
  { answers, name }: { readonly answers: string; readonly name: string },
): Buffer {
  const said: Attach = {
    kind: 'attach',
    name,
    handle,
    role,
    source: sourceOf(role === 'receiver' ? address : 'here'),
    target: targetOf(role === 'sender' ? address : answers),
    ...(role === 'sender' ? { initialDeliveryCount: 0 } : {}),
  };
  return encodeFrame('amqp', 0, writePerformative(said));
}
