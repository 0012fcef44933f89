import assert from 'node:assert/strict';
import { entry } from '../../support/atom-client.ts';
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
}

/** Sends messages for the next operation. */
export async function refill(broker: TestBroker): Promise<void> {
  expectStatus(await broker.sendBatch('orders', [{ Body: '1' }, { Body: '2' }]), 201);
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
