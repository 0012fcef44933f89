import type { Answer } from '../../support/api-client.ts';
import {
  type BatchMessage,
  expectStatus,
  fromWire,
  type OutcomeAnswer,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from '../../support/test-broker.ts';
import type { QueueSettings } from './model-message.ts';

export type Mode = 'peekLock' | 'receiveAndDelete';

/** One queue of a running namespace, for the steps of a model test. */
export class QueueClient {
  readonly broker: TestBroker;
  readonly name: string;

  constructor(broker: TestBroker, name: string) {
    this.broker = broker;
    this.name = name;
  }

  path(place: 'main' | 'dead'): string {
    return place === 'main' ? this.name : `${this.name}/$deadletterqueue`;
  }

  async create(settings: QueueSettings): Promise<void> {
    expectStatus(await this.broker.createQueue(this.name, wireSettings(settings)), 201);
  }

  async update(settings: QueueSettings): Promise<void> {
    expectStatus(await this.put(settings), 200);
  }

  /** Changes the settings and returns the answer, whatever its status. */
  async put(settings: QueueSettings): Promise<Answer> {
    return await this.broker.updateQueue(this.name, wireSettings(settings));
  }

  /** Sends one message with headers, several as a batch. */
  async send(messages: readonly BatchMessage[]): Promise<Answer> {
    const [only] = messages;
    if (only === undefined || messages.length > 1) {
      return await this.broker.sendBatch(this.name, messages);
    }
    const { Body, BrokerProperties, UserProperties = {} } = only;
    const headers = Object.entries(UserProperties).map(([key, value]) => [
      key,
      JSON.stringify(value),
    ]);
    return await this.broker.send(this.name, Body, BrokerProperties, Object.fromEntries(headers));
  }

  async peek(place: 'main' | 'dead', from: number, maxMessages: number) {
    const query = `fromSequenceNumber=${from}&maxMessages=${maxMessages}`;
    const answer = await this.broker.request('GET', `${this.path(place)}/messages?${query}`);
    expectStatus(answer, 200);
    return answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
  }

  /** Receives messages; if `isAlone`, one message whose properties come in headers. */
  async receive(
    place: 'main' | 'dead',
    mode: Mode,
    maxMessages: number,
    isAlone: boolean,
  ): Promise<readonly Received[]> {
    const path = this.path(place);
    if (!isAlone) {
      return mode === 'peekLock'
        ? await this.broker.peekLockMany(path, maxMessages)
        : await this.broker.receiveAndDeleteMany(path, maxMessages);
    }
    const one =
      mode === 'peekLock'
        ? await this.broker.peekLock(path)
        : await this.broker.receiveAndDelete(path);
    return one === undefined ? [] : [one];
  }

  /** Calls `POST …/messages/$verb`. */
  async call(place: 'main' | 'dead', verb: string, body?: object): Promise<Answer> {
    return await this.broker.request('POST', `${this.path(place)}/messages/$${verb}`, {
      headers: { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async receiveDeferred(
    place: 'main' | 'dead',
    mode: Mode,
    sequenceNumbers: readonly number[],
  ): Promise<{ readonly answer: Answer; readonly received: readonly Received[] }> {
    const answer = await this.call(place, 'deferred', { sequenceNumbers, mode });
    const isDone = answer.status === 200 || answer.status === 201;
    const messages = isDone ? answer.json<Parameters<typeof fromWire>[0][]>() : [];
    return { answer, received: messages.map(fromWire) };
  }

  async settle(
    place: 'main' | 'dead',
    settlements: readonly SettlementRequest[],
  ): Promise<readonly OutcomeAnswer[]> {
    return await this.broker.settle(this.path(place), settlements);
  }

  /** Calls an operator's operation on one message; returns whether it was done. */
  async operate(
    place: 'main' | 'dead',
    verb: 'breakLock' | 'reactivate' | 'delete' | 'deadLetter',
    number: number,
    more: object = {},
  ): Promise<boolean> {
    const answer = await this.call(place, verb, { sequenceNumbers: [number], ...more });
    expectStatus(answer, 200);
    const { outcomes } = answer.json<{ outcomes: { sequenceNumber: number; done: boolean }[] }>();
    const [outcome] = outcomes;
    if (outcomes.length !== 1 || outcome?.sequenceNumber !== number) {
      throw new Error(`Asked about message ${number}, and got ${answer.text}`);
    }
    return outcome.done;
  }
}

function wireSettings(settings: QueueSettings): Record<string, string> {
  const { lockMs, maxDeliveryCount, defaultTtlMs, deadLettersExpired } = settings;
  return {
    LockDuration: `PT${lockMs / 1000}S`,
    ...(defaultTtlMs === undefined
      ? {}
      : { DefaultMessageTimeToLive: `PT${defaultTtlMs / 1000}S` }),
    DeadLetteringOnMessageExpiration: String(deadLettersExpired),
    MaxDeliveryCount: String(maxDeliveryCount),
  };
}
