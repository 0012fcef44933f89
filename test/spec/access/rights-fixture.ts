import assert from 'node:assert/strict';
import { entry } from '../../support/atom-client.ts';
import { LAMBDA } from '../../support/consumers.ts';
import { JSON_TYPE } from '../../support/json-management.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** The entities and messages that the operations of the rights matrix use. */

export const RIGHTS = ['Send', 'Listen', 'Manage'] as const;
export type Right = (typeof RIGHTS)[number];

export const key = (rule: string, which: string): string => `${rule}${which}`.padEnd(44, 'A');

/** One rule for each right, named after it; each entity has its own keys. */
export const rules = (entity: string): string =>
  `<AuthorizationRules>${RIGHTS.map(
    (right) =>
      `<AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>${right}</AccessRights></Rights><KeyName>${right}</KeyName><PrimaryKey>${key(entity + right, '1')}</PrimaryKey><SecondaryKey>${key(entity + right, '2')}</SecondaryKey></AuthorizationRule>`,
  ).join('')}</AuthorizationRules>`;

export const QUEUE = entry('QueueDescription', rules('orders'));
const TOPIC = entry('TopicDescription', rules('events'));
export const SUBSCRIPTION = entry('SubscriptionDescription');
export const RULE = entry('RuleDescription', '<Filter i:type="TrueFilter"/>');
export const BILLING = 'events/Subscriptions/billing';
export const LARGE = `${BILLING}/Rules/large`;
export const DEAD = 'orders/$deadletterqueue';

const CONSUMERS = [`${DEAD}/consumers/c`, `${BILLING}/consumers/c`] as const;
const CONSUMER = {
  body: JSON.stringify({ target: LAMBDA }),
  headers: { 'Content-Type': JSON_TYPE },
} as const;

/** The operations on the consumer of an entity: of `orders`, or of a subscription. */
export function onConsumer(which: number) {
  const path = CONSUMERS[which] ?? '';
  return [
    ['listConsumers', path.replace(/\/c$/, ''), {}],
    ['getConsumer', path, {}],
    ['putConsumer', path, CONSUMER],
    ['deleteConsumer', path, {}],
  ] as const;
}

let sessions = 0;

/** A session id that no other test has used. */
export function newSession(): string {
  return `s${sessions++}`;
}

/** Creates those entities and rules that do not exist. */
export async function prepare(broker: TestBroker): Promise<void> {
  for (const [path, body] of [
    ['orders', QUEUE],
    [
      'sessions',
      entry('QueueDescription', `<RequiresSession>true</RequiresSession>${rules('sessions')}`),
    ],
    ['other', entry('QueueDescription', rules('other'))],
    ['events', TOPIC],
    [BILLING, SUBSCRIPTION],
    [LARGE, RULE],
  ] as const) {
    const { status, text } = await broker.request('PUT', path, { body });
    assert.ok(status === 201 || status === 409, text);
  }
  for (const path of CONSUMERS) {
    const { status, text } = await broker.request('PUT', path, CONSUMER);
    assert.ok(status === 201 || status === 200, text);
  }
}

/** Sends messages for the next operation. */
export async function refill(broker: TestBroker): Promise<void> {
  expectStatus(await broker.sendBatch('orders', [{ Body: '1' }, { Body: '2' }]), 201);
}

/** Locks a message; returns its token, and the path of the lock. */
export async function lock(broker: TestBroker): Promise<{ token: string; path: string }> {
  const message = await broker.peekLock('orders');
  assert.ok(message?.location);
  return { token: message.broker.LockToken, path: new URL(message.location).pathname.slice(1) };
}

/** Defers a message; returns its sequence number. */
export async function defer(broker: TestBroker): Promise<number> {
  const message = await broker.peekLock('orders');
  assert.ok(message);
  const { LockToken: lockToken, SequenceNumber } = message.broker;
  await broker.settle('orders', [{ lockToken, outcome: 'defer' }]);
  return SequenceNumber;
}

/** The query parameters of an accepted session. */
export async function hold(broker: TestBroker): Promise<string> {
  const id = newSession();
  const { json } = await broker.request('POST', `sessions/sessions/$accept?sessionId=${id}`);
  return `sessionId=${id}&sessionLock=${json<{ sessionLock: string }>().sessionLock}`;
}

/** Schedules a message; returns its sequence number. */
export async function schedule(broker: TestBroker): Promise<readonly number[]> {
  const later = { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37Z' };
  return await broker.schedule('orders', [{ Body: 'x', BrokerProperties: later }]);
}

/** The observable state of the namespace, to compare before and after refused requests. */
export async function snapshot(broker: TestBroker): Promise<readonly string[]> {
  const paths = ['orders', 'orders/messages', `${DEAD}/messages`, 'events', `${BILLING}/Rules`];
  const consumers = CONSUMERS.map((path) => path.replace(/\/c$/, ''));
  const lists = ['$Resources/Queues', 'events/Subscriptions', ...consumers];
  return Promise.all(
    [...paths, ...lists].map(async (path) => (await broker.request('GET', path)).text),
  );
}

interface Contract {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string }>>>
  >;
}

/** By operation. */
export type Methods = ReadonlyMap<string, string>;

/** The HTTP method of each operation of the OpenAPI document. */
export async function methodsOf(broker: TestBroker): Promise<Methods> {
  const { paths } = (await broker.request('GET', '$openapi.json')).json<Contract>();
  return new Map(
    Object.values(paths)
      .flatMap((methods) => Object.entries(methods))
      .map(([method, { operationId }]) => [operationId, method.toUpperCase()]),
  );
}
