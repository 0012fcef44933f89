import type { Composition } from '../../lambdas/http/compose.ts';
import type { UnitMeter, Units } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { type Answer, type ApiClient, expectStatus, type RequestOptions } from './api-client.ts';
import type { ManualClock } from './manual-clock.ts';
import { type RuntimeProperties, readRuntimeProperties } from './runtime-properties.ts';
import type { VirtualTime } from './virtual-time.ts';
import {
  type BatchMessage,
  fromWire,
  type Received,
  received,
  type WireMessage,
} from './wire-message.ts';

export { expectStatus } from './api-client.ts';
export type { BatchMessage, BrokerProperties, Received } from './wire-message.ts';
export { fromWire } from './wire-message.ts';

const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
export const BATCH_TYPE = 'application/vnd.microsoft.servicebus.json';

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

interface TestBrokerOptions {
  readonly api: ApiClient;
  readonly clock: ManualClock;
  readonly meter: UnitMeter;
  readonly namespace: string;
  /** The process behind the address, or several that answer alternately. */
  readonly composition: Pick<Composition, 'sweep' | 'idle'>;
  /** The monotonic clock of its processes. */
  readonly time: VirtualTime;
}

/** A client of a running namespace, over HTTP. */
export class TestBroker {
  readonly api: ApiClient;
  readonly clock: ManualClock;
  readonly namespace: string;
  /** The monotonic clock of its processes, and of those that are started beside it. */
  readonly time: VirtualTime;
  readonly #meter: UnitMeter;
  readonly #composition: Pick<Composition, 'sweep' | 'idle'>;

  constructor({ api, clock, meter, namespace, composition, time }: TestBrokerOptions) {
    this.time = time;
    this.api = api;
    this.clock = clock;
    this.namespace = namespace;
    this.#meter = meter;
    this.#composition = composition;
  }

  request(method: string, path: string, options?: RequestOptions): Promise<Answer> {
    return this.api.request(method, path, options);
  }

  /** Creates a queue; settings have their wire names, in the service's order of elements. */
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

  /** Peek-locks one message; undefined if there is none. */
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

  /** Settles several messages in one request; each has its own outcome. */
  async settle(
    path: string,
    settlements: readonly SettlementRequest[],
  ): Promise<readonly OutcomeAnswer[]> {
    const answer = await this.post(path, '$settle', { settlements }, 200);
    return answer.json<{ settlements: OutcomeAnswer[] }>().settlements;
  }

  /** Peeks as many messages as fit into an answer, from the first or from a sequence number on. */
  async peek(
    path: string,
    { from, max }: { readonly from?: number | bigint; readonly max?: number } = {},
  ): Promise<readonly Received[]> {
    const query = [
      ...(from === undefined ? [] : [`fromSequenceNumber=${from}`]),
      ...(max === undefined ? [] : [`maxMessages=${max}`]),
    ].join('&');
    const answer = await this.request('GET', `${path}/messages?${query}`);
    expectStatus(answer, 200);
    return answer.json<WireMessage[]>().map(fromWire);
  }

  /** Schedules messages, each with a ScheduledEnqueueTimeUtc; returns their sequence numbers. */
  async schedule(path: string, messages: readonly BatchMessage[]): Promise<readonly number[]> {
    const answer = await this.post(path, '$schedule', messages, 201);
    return answer.json<{ sequenceNumbers: number[] }>().sequenceNumbers;
  }

  async cancelScheduled(path: string, sequenceNumbers: readonly number[]): Promise<Answer> {
    return await this.post(path, '$cancelScheduled', { sequenceNumbers });
  }

  /** Receives deferred messages by sequence number; throws if it is refused. */
  async receiveDeferred(
    path: string,
    sequenceNumbers: readonly number[],
    mode: 'peekLock' | 'receiveAndDelete' = 'peekLock',
  ): Promise<readonly Received[]> {
    const answer = await this.receiveDeferredRaw(path, sequenceNumbers, mode);
    expectStatus(answer, mode === 'peekLock' ? 201 : 200);
    return answer.json<WireMessage[]>().map(fromWire);
  }

  async receiveDeferredRaw(
    path: string,
    sequenceNumbers: readonly number[],
    mode?: 'peekLock' | 'receiveAndDelete',
  ): Promise<Answer> {
    return await this.post(path, '$deferred', { sequenceNumbers, mode });
  }

  /** An operator's operation on single messages; returns for each sequence number whether it was done. */
  async breakLock(path: string, numbers: readonly number[]): Promise<readonly boolean[]> {
    return await this.#operate(path, '$breakLock', numbers);
  }

  async reactivate(path: string, numbers: readonly number[]): Promise<readonly boolean[]> {
    return await this.#operate(path, '$reactivate', numbers);
  }

  async deleteByNumber(path: string, numbers: readonly number[]): Promise<readonly boolean[]> {
    return await this.#operate(path, '$delete', numbers);
  }

  /** `options` by their wire names: deadLetterReason, deadLetterErrorDescription, properties. */
  async deadLetterByNumber(
    path: string,
    numbers: readonly number[],
    options: Readonly<Record<string, unknown>> = {},
  ): Promise<readonly boolean[]> {
    return await this.#operate(path, '$deadLetter', numbers, options);
  }

  async #operate(path: string, verb: string, sequenceNumbers: readonly number[], options = {}) {
    const answer = await this.post(path, verb, { sequenceNumbers, ...options }, 200);
    return answer.json<{ outcomes: { done: boolean }[] }>().outcomes.map(({ done }) => done);
  }

  /** Deletes active messages enqueued before an instant (ISO 8601); returns how many. */
  async deleteMessages(
    path: string,
    range: { readonly maxMessages: number; readonly enqueuedBefore: string },
  ): Promise<number> {
    return (await this.post(path, '$delete', range, 200)).json<{ deleted: number }>().deleted;
  }

  /** Moves dead letters back to the main queue; returns how many. */
  async resubmit(deadLetterPath: string, maxMessages?: number): Promise<number> {
    const answer = await this.post(deadLetterPath, '$resubmit', { maxMessages }, 200);
    return answer.json<{ resubmitted: number }>().resubmitted;
  }

  async purge(path: string): Promise<void> {
    await this.post(path, '$purge', {}, 200);
  }

  /** Sends one of the `$` operations on messages; with `status`, throws if the answer has another. */
  async post(path: string, verb: string, body: unknown, status?: number): Promise<Answer> {
    const answer = await this.request('POST', `${path}/messages/${verb}`, {
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
    if (status !== undefined) expectStatus(answer, status);
    return answer;
  }

  /** The runtime properties of a queue. */
  async runtimeProperties(queue: string): Promise<RuntimeProperties> {
    const answer = await this.request('GET', queue);
    expectStatus(answer, 200);
    return readRuntimeProperties(answer.text);
  }

  /** Runs the sweep once. */
  async sweep(): Promise<void> {
    await this.#composition.sweep();
  }

  /** Resolves when no work is left behind its answers. */
  async idle(): Promise<void> {
    await this.#composition.idle();
  }

  /** The cost of `work` in capacity units, as DynamoDB charges it. */
  async units(work: () => Promise<unknown>): Promise<Units> {
    await this.idle();
    this.#meter.take();
    await work();
    await this.idle();
    return this.#meter.take();
  }
}

function locationOf({ location }: Received): string {
  if (location === undefined) throw new Error('The message is not locked by a single receive.');
  return location;
}
