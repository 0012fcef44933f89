import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invokePaths, type PathOfEntity, type Right } from '../../../cdk/entities/invoke-paths.ts';
import { ROUTES, type Route } from '../../../lambdas/http/routing/route-table.ts';

/** A path of another entity for each kind, which no grant may cover. */
const OTHERS: readonly PathOfEntity[] = [
  { kind: 'queue', path: 'orders2' },
  { kind: 'queue', path: 'eu/orders' },
  { kind: 'queue', path: 'orders/eu' },
  { kind: 'topic', path: 'events2' },
  { kind: 'subscription', path: 'events/Subscriptions/audit2' },
  { kind: 'subscription', path: 'events/Subscriptions/other' },
];

const GRANTED: readonly PathOfEntity[] = [
  { kind: 'queue', path: 'orders' },
  { kind: 'topic', path: 'events' },
  { kind: 'subscription', path: 'events/Subscriptions/audit' },
];

test('a grant covers the operations of its right on its entity, and nothing else', () => {
  for (const entity of GRANTED) {
    for (const right of ['Send', 'Listen', 'Manage'] as const) {
      const patterns = invokePaths(right, entity).map(asIamCompares);
      const isCovered = (request: string) => patterns.some((pattern) => pattern.test(request));
      for (const { request, route, on } of requestsOn([...GRANTED, ...OTHERS])) {
        const expected = isAllowed(right, entity, route, on);
        assert.equal(isCovered(request), expected, `${right} on ${entity.path}: ${request}`);
      }
    }
  }
});

/** Every operation on every entity and its dead-letter queue, as a client calls it. */
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
      for (const suffix of hasDeadLetters ? ['', '/$DeadLetterQueue'] : ['']) {
        const path = route.path
          .replace('{topic}/Subscriptions/{subscription}', on.path)
          .replace(/\{(?:entity|topic)\}/, `${on.path}${suffix}`)
          .replaceAll(/\{\w+\}/g, '1');
        yield { request: `${route.method}${path}`, route, on: { ...on, suffix } };
      }
    }
  }
}

function isAllowed(
  right: Right,
  entity: PathOfEntity,
  { name, kind, rights, path }: Route,
  on: PathOfEntity & { readonly suffix: string },
): boolean {
  // What is about all entities, and what changes settings, which include forwarding anywhere.
  if (!path.includes('{') || name === 'putEntity') return false;
  const isOfTopic = entity.kind === 'topic' && on.path.startsWith('events/Subscriptions/');
  const isItself = on.path === entity.path;
  if (!isItself && !isOfTopic) return false;
  if (name === 'listSubscriptions') return right === 'Manage' && on.kind === 'topic';
  // A topic has no messages to receive, and a subscription takes none.
  const isMessages = kind !== 'management';
  const isSend = rights.includes('Send');
  if (isMessages && on.kind === 'topic' && (!isSend || on.suffix !== '')) return false;
  if (isMessages && isSend && (on.kind === 'subscription' || on.suffix !== '')) return false;
  return right === 'Manage' || rights.includes(right);
}

/** IAM compares the whole text; `*` stands for any characters, slashes among them. */
function asIamCompares(pattern: string): RegExp {
  const source = pattern.split('*').map((part) => part.replaceAll(/[.$/]/g, '\\$&'));
  return new RegExp(`^${source.join('.*')}$`);
}
