import type { Composition } from '../../lambdas/http/compose.ts';
import type { UnitMeter, Units } from '../../shared/storage/unit-meter.ts';
import type { Answer, ApiClient, RequestOptions } from './api-client.ts';
import type { ManualClock } from './manual-clock.ts';

const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
export const BATCH_TYPE = 'application/vnd.microsoft.servicebus.json';

/** BrokerProperties as JSON carries them. */
export interface BrokerProperties {
  readonly DeliveryCount: number;
  readonly EnqueuedTimeUtc: string;
  readonly LockToken: string;
  readonly LockedUntilUtc: string;
  readonly MessageId: string;
  readonly SequenceNumber: number;
  readonly State: string;
  readonly TimeToLive: number;
  readonly [name: string]: unknown;
}

/** A received message, whichever way it came. */
export interface Received {
  readonly body: string;
  readonly broker: BrokerProperties;
  readonly properties: Readonly<Record<string, unknown>>;
  /** The lock URI; absent after receive-and-delete. */
  readonly location?: string;
}

/** One message of a batch, as it is sent. */
export interface BatchMessage {
  readonly Body: string;
  readonly BodyEncoding?: 'base64';
  readonly BrokerProperties?: Readonly<Record<string, unknown>>;
  readonly UserProperties?: Readonly<Record<string, unknown>>;
}

export interface SettlementRequest {
  readonly lockToken: string;
  readonly outcome: 'complete' | 'abandon' | 'defer' | 'deadLetter';
  readonly [option: string]: unknown;
}

export interface OutcomeAnswer {
  readonly lockToken: string;
  readonly settled: boolean;
  readonly error?: { readonly code: string; readonly message: string; readonly trackingId: string };
}

interface Parts {
  readonly api: ApiClient;
  readonly clock: ManualClock;
  readonly meter: UnitMeter;
  readonly namespace: string;
  readonly composition: Composition;
}

/** A running namespace in the words of its users; everything goes over HTTP. */
export class TestBroker {
  readonly api: ApiClient;
  readonly clock: ManualClock;
  readonly namespace: string;
  readonly #meter: UnitMeter;
  readonly #composition: Composition;

  constructor({ api, clock, meter, namespace, composition }: Parts) {
    this.api = api;
    this.clock = clock;
    this.namespace = namespace;
    this.#meter = meter;
    this.#composition = composition;
  }

  request(method: string, path: string, options?: RequestOptions): Promise<Answer> {
    return this.api.request(method, path, options);
  }

  /** Creates a queue with settings by their wire names, in the service's order of elements. */
  async createQueue(name: string, settings: Record<string, string> = {}): Promise<Answer> {
    return await this.putEntity(name, 'QueueDescription', settings);
  }

  /** Replaces the settings of a queue. */
  async updateQueue(name: string, settings: Record<string, string> = {}): Promise<Answer> {
    return await this.putEntity(name, 'QueueDescription', settings, { 'If-Match': '*' });
  }

  async putEntity(
    path: string,
    kind: string,
    settings: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const elements = Object.entries(settings).map(([key, value]) => `<${key}>${value}</${key}>`);
    return await this.request('PUT', path, {
      headers: { 'Content-Type': 'application/atom+xml;type=entry;charset=utf-8', ...headers },
      body: `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><${kind} xmlns="${CONNECT}">${elements.join('')}</${kind}></content></entry>`,
    });
  }

  /** Sends one message; BrokerProperties and headers as given. */
  async send(
    path: string,
    body: string | Uint8Array,
    broker?: Record<string, unknown>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return await this.request('POST', `${path}/messages`, {
      body,
      headers: {
        ...(broker === undefined ? {} : { BrokerProperties: JSON.stringify(broker) }),
        ...headers,
      },
    });
  }

  async sendBatch(path: string, messages: readonly BatchMessage[]): Promise<Answer> {
    return await this.request('POST', `${path}/messages`, {
      body: JSON.stringify(messages),
      headers: { 'Content-Type': BATCH_TYPE },
    });
  }

  /** Peek-locks one message; nothing where there is none. */
  async peekLock(path: string, timeout = 0): Promise<Received | undefined> {
    const answer = await this.request('POST', `${path}/messages/head?timeout=${timeout}`);
    if (answer.status === 204) return undefined;
    expectStatus(answer, 201);
    return received(answer);
  }

  async receiveAndDelete(path: string, timeout = 0): Promise<Received | undefined> {
    const answer = await this.request('DELETE', `${path}/messages/head?timeout=${timeout}`);
    if (answer.status === 204) return undefined;
    expectStatus(answer, 200);
    return received(answer);
  }

  /** Peek-locks up to `maxMessages`. */
  async peekLockMany(path: string, maxMessages: number, timeout = 0): Promise<readonly Received[]> {
    return await this.#many('POST', path, maxMessages, timeout);
  }

  async receiveAndDeleteMany(path: string, maxMessages: number): Promise<readonly Received[]> {
    return await this.#many('DELETE', path, maxMessages, 0);
  }

  async #many(method: string, path: string, maxMessages: number, timeout: number) {
    const answer = await this.request(
      method,
      `${path}/messages/head?timeout=${timeout}&maxMessages=${maxMessages}`,
    );
    if (answer.status === 204) return [];
    expectStatus(answer, method === 'POST' ? 201 : 200);
    return answer.json<WireMessage[]>().map(fromWire);
  }

  /** Settles by lock URI; returns the status. */
  async complete(message: Received): Promise<number> {
    return (await this.request('DELETE', locationOf(message))).status;
  }

  async abandon(message: Received): Promise<number> {
    return (await this.request('PUT', locationOf(message))).status;
  }

  async renew(message: Received): Promise<Answer> {
    return await this.request('POST', locationOf(message));
  }

  /** Settles many at once; each has its own outcome. */
  async settle(
    path: string,
    settlements: readonly SettlementRequest[],
  ): Promise<readonly OutcomeAnswer[]> {
    const answer = await this.request('POST', `${path}/messages/$settle`, {
      body: JSON.stringify({ settlements }),
      headers: { 'Content-Type': 'application/json' },
    });
    expectStatus(answer, 200);
    return answer.json<{ settlements: OutcomeAnswer[] }>().settlements;
  }

  /** Runs the sweep once. */
  async sweep(): Promise<void> {
    await this.#composition.sweep();
  }

  /** What the work cost in capacity units, at the service's prices. */
  async units(work: () => Promise<unknown>): Promise<Units> {
    await this.#composition.idle();
    this.#meter.take();
    await work();
    await this.#composition.idle();
    return this.#meter.take();
  }
}

interface WireMessage extends BatchMessage {
  readonly BrokerProperties: BrokerProperties;
}

/** A message of the JSON batch format. */
export function fromWire(message: WireMessage): Received {
  return {
    body: message.Body,
    broker: message.BrokerProperties,
    properties: message.UserProperties ?? {},
  };
}

function received(answer: Answer): Received {
  const location = answer.headers.get('location');
  return {
    body: answer.text,
    broker: JSON.parse(answer.headers.get('brokerproperties') ?? '{}') as BrokerProperties,
    properties: Object.fromEntries(answer.headers),
    ...(location === null ? {} : { location }),
  };
}

function locationOf({ location }: Received): string {
  if (location === undefined) throw new Error('The message is not locked by a single receive.');
  return location;
}

/** Fails with what the service said. */
export function expectStatus(answer: Answer, status: number): void {
  if (answer.status !== status) {
    throw new Error(`Expected ${status}, got ${answer.status}: ${answer.text}`);
  }
}
