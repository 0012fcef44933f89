import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { encodeFrame, protocolHeader } from '../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../amqp/wire/performatives.ts';
import { binary, described, list, symbol } from '../../amqp/wire/value.ts';
import type { HttpDependencies } from '../../lambdas/http/http-dependencies.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { RuleManagement } from '../../shared/broker/management/rules.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { LockedMessage } from '../../shared/domain/messages/message.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import { FAKE_NOW } from './fake-broker.ts';
import { httpDependencies } from './http-fixture.ts';
import { sourceOf, targetOf } from './raw-session.ts';

const SASL_INIT = 0x41n;
const LAST_BYTES = 1000;
const WINDOW = 0x7fff_ffff;
/** A longer timer is a time limit, which must not elapse early. */
const PAUSE_MS_MAX = 1000;

/**
 * For tests that count turns: time stands still, so that no work seems slow, and a short pause lasts one turn,
 * so that none of them outlasts the turns of a slow machine.
 */
export const turnScheduler: Scheduler = {
  ...realScheduler,
  now: () => 0,
  after: (ms, work) => {
    if (ms > PAUSE_MS_MAX) return realScheduler.after(ms, work);
    const immediate = setImmediate(work);
    return { cancel: () => clearImmediate(immediate) };
  },
};

/** A gateway without sockets or a database, whose time stands still. `faults` collects the reported faults. */
export function fakeGateway({
  scheduler = turnScheduler,
  ...changes
}: Partial<HttpDependencies> & { readonly scheduler?: Scheduler } = {}) {
  const faults: unknown[] = [];
  const memory = changes.memory ?? new MemoryBudget(Number.POSITIVE_INFINITY);
  const rules: RuleManagement = Object.create(RuleManagement.prototype);
  const dependencies = {
    ...httpDependencies({ workTurns: new WorkTurns(scheduler), ...changes, memory }),
    rules,
    scheduler,
    reportFault: (fault: unknown) => void faults.push(fault),
  };
  return { gateway: new AmqpServer(dependencies), broker: dependencies.broker, memory, faults };
}

/** A locked message with a body of `bytes` bytes. */
export function lockedMessage(sequenceNumber: number, bytes: number): LockedMessage {
  return {
    message: { messageId: `m${sequenceNumber}`, body: Buffer.alloc(bytes), properties: {} },
    sequenceNumber: BigInt(sequenceNumber),
    enqueuedAt: FAKE_NOW,
    state: 'Active',
    failedDeliveries: 0,
    lockToken: `00000000-0000-4000-8000-${String(sequenceNumber).padStart(12, '0')}`,
    lockedUntil: FAKE_NOW + 60_000,
  };
}

/** Resolves after one turn of the event loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Resolves when a condition holds, or after `most` turns. */
export async function turnsUntil(condition: () => boolean, most = 10_000): Promise<void> {
  for (let i = 0; i < most && !condition(); i++) await turn();
}

/** A peer of a gateway without a socket: it records the writes, and completes them at once or on request. */
export class FakePeer {
  /** Whether writes complete at once. */
  isTaking = true;
  /** The sizes of the writes. */
  readonly writes: number[] = [];
  /** The last bytes of the last write. */
  lastWrite = Buffer.alloc(0);
  isEnded = false;
  isDestroyed = false;
  /** How often the gateway paused it. */
  pauses = 0;
  readonly #connection: ReturnType<AmqpServer['accept']>;
  #input: Uint8Array[] = [];
  #isPaused = false;
  #isGathering = false;
  #backlog = 0;
  #untaken: (() => void)[] = [];

  constructor(gateway: AmqpServer) {
    const peer = this;
    this.#connection = gateway.accept({
      get backlog() {
        return peer.#backlog;
      },
      write: (bytes, written) => peer.#write(bytes, written),
      pause: () => {
        peer.#isPaused = true;
        peer.pauses++;
      },
      resume: () => {
        peer.#isPaused = false;
        setImmediate(() => peer.#pump());
      },
      end: () => {
        peer.isEnded = true;
      },
      destroy: () => {
        peer.isDestroyed = true;
      },
    });
  }

  /** A peer with the key of the root rule, and an open session. */
  static async root(gateway: AmqpServer, maxFrameSize?: number): Promise<FakePeer> {
    const peer = new FakePeer(gateway);
    const init = list([symbol('PLAIN'), binary(Buffer.from('\0root\0root-primary'))]);
    peer.feed(protocolHeader('sasl'), encodeFrame('sasl', 0, described(SASL_INIT, init)));
    peer.feed(protocolHeader('amqp'));
    await peer.settled();
    peer.open(maxFrameSize);
    await turn();
    return peer;
  }

  /** An unauthorized peer with an open session. */
  static unauthorized(gateway: AmqpServer): FakePeer {
    const peer = new FakePeer(gateway);
    peer.feed(protocolHeader('amqp'));
    peer.open();
    return peer;
  }

  /** Opens the connection and a session. */
  open(maxFrameSize?: number): void {
    const size = maxFrameSize === undefined ? {} : { maxFrameSize };
    this.say({ kind: 'open', containerId: 'peer', hostname: 'localhost', ...size });
    const windows = { nextOutgoingId: 0, incomingWindow: WINDOW, outgoingWindow: 100 };
    this.say({ kind: 'begin', ...windows });
  }

  /** Attaches receivers with handles from 0 on, and gives each credit once all are open. */
  async receive(address: string, links: number, linkCredit: number): Promise<void> {
    for (let handle = 0; handle < links; handle++) this.attach('receiver', address, handle);
    await this.settled();
    for (let handle = 0; handle < links; handle++) this.credit(handle, linkCredit);
  }

  attach(role: 'sender' | 'receiver', address: string, handle: number): void {
    const [source, target] = [sourceOf(address), targetOf(address)];
    const count = role === 'sender' ? { initialDeliveryCount: 0 } : {};
    this.say({ kind: 'attach', name: `link-${handle}`, handle, role, source, target, ...count });
  }

  /** Resolves when the gateway has answered the input. */
  async settled(): Promise<void> {
    for (let i = 0; i < 5; i++) await turn();
  }

  credit(handle: number, linkCredit: number): void {
    const windows = { nextIncomingId: 0, incomingWindow: WINDOW, nextOutgoingId: 0 };
    const flow = { ...windows, outgoingWindow: 100, handle, deliveryCount: 0, linkCredit };
    this.say({ kind: 'flow', ...flow });
  }

  say(performative: Performative, payload?: Uint8Array): void {
    this.feed(encodeFrame('amqp', 0, writePerformative(performative), payload));
  }

  /** Sends all frames of `say` as one piece. */
  atOnce(say: () => void): void {
    this.#isGathering = true;
    say();
    this.#isGathering = false;
    this.feed(Buffer.concat(this.#input.splice(0)));
  }

  feed(...pieces: readonly Uint8Array[]): void {
    this.#input.push(...pieces);
    this.#pump();
  }

  /** Completes the writes so far. */
  take(): void {
    for (const written of this.#untaken.splice(0)) written();
  }

  /** Whether all writes are complete. */
  get hasTakenAll(): boolean {
    return this.#backlog === 0;
  }

  /** The number of bytes written to the peer. */
  get written(): number {
    return this.writes.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Reports to the gateway that the connection is lost. */
  lost(): void {
    this.#connection.transportClosed();
  }

  #write(bytes: Uint8Array, written: () => void): void {
    this.writes.push(bytes.byteLength);
    this.lastWrite = Buffer.from(bytes.subarray(-LAST_BYTES));
    this.#backlog += bytes.byteLength;
    this.#untaken.push(() => {
      this.#backlog -= bytes.byteLength;
      written();
    });
    if (this.isTaking) setImmediate(() => this.take());
  }

  #pump(): void {
    while (!this.#isPaused && !this.#isGathering) {
      const piece = this.#input.shift();
      if (piece === undefined) return;
      this.#connection.input(piece);
    }
  }
}
