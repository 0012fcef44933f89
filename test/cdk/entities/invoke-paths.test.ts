import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invokePaths, type PathOfEntity, type Right } from '../../../cdk/entities/invoke-paths.ts';
import { ROUTES, type Route } from '../../../lambdas/http/routing/route-table.ts';
import { lockAndSettle } from '../../spec/queues/queue.ts';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** A path of another entity for each kind, which no grant may cover. */
const OTHERS: readonly PathOfEntity[] = [
  { kind: 'queue', path: 'orders2' },
  { kind: 'queue', path: 'eu/orders' },
  { kind: 'queue', path: 'orders/eu' },
  { kind: 'topic', path: 'events2' },
  { kind: 'subscription', path: 'events/subscriptions/audit2' },
  { kind: 'subscription', path: 'events/subscriptions/other' },
];

const GRANTED: readonly PathOfEntity[] = [
  { kind: 'queue', path: 'orders' },
  { kind: 'topic', path: 'events' },
  { kind: 'subscription', path: 'events/subscriptions/audit' },
];

test('a grant covers the operations of its right on its entity, and nothing else', () => {
  for (const entity of GRANTED) {
    for (const right of ['Send', 'Listen', 'Manage'] as const) {
      const isCovered = coveredBy(right, entity);
      for (const { request, route, on } of requestsOn([...GRANTED, ...OTHERS])) {
        const expected = isAllowed(right, entity, route, on);
        assert.equal(isCovered(request), expected, `${right} on ${entity.path}: ${request}`);
      }
    }
  }
});

/** What follows the path of an entity and of its dead-letter queues. */
const SUFFIXES = ['', '/$DeadLetterQueue', '/$Transfer/$DeadLetterQueue'];

/**
 * Every operation on every entity and its dead-letter queues, in lower case, and with the capitals that the
 * documentation gives to words with a `$`.
 */
function* requestsOn(entities: readonly PathOfEntity[]) {
  const routes: readonly Route[] = ROUTES;
  for (const route of routes) {
    for (const on of entities) {
      const isOfRules = route.path.includes('{subscription}');
      if (isOfRules && on.kind !== 'subscription') continue;
      const isOfSessions = route.path.includes('/sessions/');
      if (route.name === 'listSubscriptions' && on.kind !== 'topic') continue;
      // A dead-letter queue has no sessions.
      const hasDeadLetters = route.kind !== 'management' && !isOfSessions;
      for (const suffix of hasDeadLetters ? SUFFIXES : ['']) {
        const path = route.path
          .replace('{topic}/Subscriptions/{subscription}', on.path)
          .replace(/\{(?:entity|topic)\}/, `${on.path}${suffix}`)
          .replaceAll(/\{\w+\}/g, '1');
        const spellings = [path.toLowerCase(), path.replaceAll(/\/[A-Z]\w+/g, lowerCase)];
        for (const spelling of new Set(spellings)) {
          yield { request: `${route.method}${spelling}`, route, on: { ...on, suffix } };
        }
      }
    }
  }
}

function isAllowed(
  right: Right,
  entity: PathOfEntity,
  { name, method, kind, rights, path }: Route,
  on: PathOfEntity & { readonly suffix: string },
): boolean {
  // What is about all entities, and what changes settings, which include forwarding anywhere.
  if (!path.includes('{') || name === 'putEntity') return false;
  const isOfTopic = entity.kind === 'topic' && on.path.startsWith('events/subscriptions/');
  const isItself = on.path === entity.path;
  if (!isItself && !isOfTopic) return false;
  // A consumer calls functions. What lies below the subscriptions of a topic may be read and deleted with them.
  if (path.includes('/consumers')) return isOfTopic && right === 'Manage' && method !== 'PUT';
  if (name === 'listSubscriptions') return right === 'Manage' && on.kind === 'topic';
  // Whoever manages a topic may get everything of its subscriptions, also where the service refuses it.
  if (name === 'senderFacts' && isOfTopic) return right === 'Manage';
  // A topic has no messages to receive, and a subscription takes none.
  const isMessages = kind !== 'management';
  const isSend = rights.includes('Send');
  if (isMessages && on.kind === 'topic' && (!isSend || on.suffix !== '')) return false;
  if (isMessages && isSend && (on.kind === 'subscription' || on.suffix !== '')) return false;
  return right === 'Manage' || rights.includes(right);
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}

/** Whether the policy of a grant allows a request: its method and path in one text. */
function coveredBy(right: Right, entity: PathOfEntity): (request: string) => boolean {
  const patterns = invokePaths(right, entity).map(asIamCompares);
  return (request) => patterns.some((pattern) => pattern.test(request));
}

/** IAM compares the whole text; `*` stands for any characters, slashes among them, `?` for one. */
function asIamCompares(pattern: string): RegExp {
  const source = pattern.replaceAll(/[.$/*?]/g, (sign) => WILDCARDS[sign] ?? `\\${sign}`);
  return new RegExp(`^${source}$`);
}

const WILDCARDS: Readonly<Record<string, string>> = { '*': '.*', '?': '.' };

test('a grant covers the Location by which the service says where a lock is', async (t) => {
  const { broker } = await startLambdaBroker(t);
  const queue = 'Shop/Orders';
  const subscription = 'Events/Subscriptions/Audit';
  await broker.createQueue('Stopped', { Status: 'Disabled' });
  await broker.createQueue(queue);
  await broker.putEntity('Events', 'TopicDescription', {});
  await broker.putEntity(subscription, 'SubscriptionDescription', {});
  const locations = {
    [queue]: await locationsIn(broker, queue, queue, 'QueueDescription'),
    [subscription]: await locationsIn(broker, subscription, 'Events', 'SubscriptionDescription'),
  };
  for (const [entity, paths] of [
    [{ kind: 'queue', path: queue }, locations[queue]],
    [{ kind: 'subscription', path: subscription }, locations[subscription]],
    [{ kind: 'topic', path: 'Events' }, locations[subscription]],
  ] as const) {
    assert.equal(new Set(paths).size, SUFFIXES.length);
    const isCovered = coveredBy('Listen', entity);
    for (const request of (paths ?? []).flatMap(settlementsAt)) {
      assert.ok(isCovered(request), `${entity.path}: ${request}`);
    }
  }
});

/** The paths of the locks of a message in an entity, and in each of its dead-letter queues. */
async function locationsIn(broker: TestBroker, path: string, to: string, kind: string) {
  const locations: string[] = [];
  for (const suffix of SUFFIXES) {
    if (suffix === SUFFIXES.at(-1)) {
      // Dead letters that cannot be forwarded land there.
      const settings = { ForwardDeadLetteredMessagesTo: 'Stopped' };
      const updated = await broker.putEntity(path, kind, settings, { 'If-Match': '*' });
      assert.equal(updated.status, 200, updated.text);
    }
    expectStatus(await broker.send(to, 'x'), 201);
    if (suffix !== '') await lockAndSettle(broker, 'deadLetter', {}, path);
    const answer = await broker.request('POST', `${path}${suffix}/messages/head?timeout=0`);
    assert.equal(answer.status, 201, `${path}${suffix}: ${answer.text}`);
    const location = answer.headers.get('location') ?? '';
    expectStatus(await broker.request('DELETE', location), 200);
    locations.push(new URL(location).pathname);
  }
  return locations;
}

function settlementsAt(path: string): readonly string[] {
  return ['POST', 'PUT', 'DELETE'].map((method) => `${method}${path}`);
}
