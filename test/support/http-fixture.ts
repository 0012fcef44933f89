import type { Hono } from 'hono';
import type { HttpDependencies } from '../../lambdas/http/http-dependencies.ts';
import { openApiRoutes } from '../../lambdas/http/openapi/routes.ts';
import { receiveRoutes } from '../../lambdas/http/routes/receive.ts';
import { sendRoutes } from '../../lambdas/http/routes/send.ts';
import { settleRoutes } from '../../lambdas/http/routes/settle.ts';
import { combineRoutes } from '../../lambdas/http/routing/combine-routes.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { TokenCache } from '../../shared/auth/token-cache.ts';
import type { EntityStore } from '../../shared/broker/ports/entities.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import {
  type AccessRight,
  type AuthorizationRule,
  QUEUE_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import { FAKE_NOW, FakeBroker } from './fake-broker.ts';

/** A rule with keys that tests can guess: `<name>-primary` and `<name>-secondary`. */
export function rule(keyName: string, ...rights: AccessRight[]): AuthorizationRule {
  return {
    keyName,
    primaryKey: `${keyName}-primary`,
    secondaryKey: `${keyName}-secondary`,
    rights,
    createdAt: FAKE_NOW,
    modifiedAt: FAKE_NOW,
  };
}

/** A newly created entity. */
export function fakeEntity(
  key: string,
  description: Entity['description'] = QUEUE_DEFAULTS,
): Entity {
  return {
    id: key,
    key,
    name: key,
    epoch: 1,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: FAKE_NOW,
    updatedAt: FAKE_NOW,
    description,
  };
}

/** A store whose entities can only be looked up, as the routes of messages do. */
export function findableEntities(entities: Readonly<Record<string, Entity>>): EntityStore {
  const unexpected = () => Promise.reject(new Error('Routes of messages do not make this call.'));
  return {
    find: async (key) => entities[key],
    read: async (key) => entities[key],
    create: unexpected,
    update: unexpected,
    remove: unexpected,
    purge: unexpected,
    list: unexpected,
    page: unexpected,
    forget: () => undefined,
  };
}

/** The dependencies of the routes, with a fake broker, a fixed time and fixed random bytes. */
export function httpDependencies(
  changes: Partial<HttpDependencies> = {},
): HttpDependencies & { broker: FakeBroker } {
  return {
    entities: findableEntities({ q: fakeEntity('q'), 'a/b': fakeEntity('a/b') }),
    namespaceKeys: { rules: async () => [rule('root', 'Manage', 'Send', 'Listen')] },
    clock: { now: () => FAKE_NOW },
    tokenClock: changes.clock ?? { now: () => FAKE_NOW },
    tokens: new TokenCache(new AgeClock({ now: () => FAKE_NOW }, () => 0)),
    random: { bytes: (count) => new Uint8Array(count).fill(0xab) },
    namespace: 'test',
    memory: new MemoryBudget(Number.POSITIVE_INFINITY),
    workTurns: new WorkTurns(realScheduler),
    receiveWaitMsMax: 60_000,
    ...changes,
    broker: new FakeBroker(['q', 'a/b', 't/subscriptions/s', 'q/$deadletterqueue']),
  };
}

/** A token of the root rule with all rights, valid for an hour. */
export const ROOT_TOKEN = createSasToken({
  audience: 'http://localhost',
  keyName: 'root',
  key: 'root-primary',
  expiresAt: FAKE_NOW + 3_600_000,
});

/** The app with all routes of messages, and a function that calls it with the root token. */
export function startApp(changes: Partial<HttpDependencies> = {}) {
  const dependencies = httpDependencies(changes);
  const app: Hono = combineRoutes(
    dependencies,
    sendRoutes(dependencies),
    receiveRoutes(dependencies),
    settleRoutes(dependencies),
    openApiRoutes(),
  );
  const call = async (method: string, path: string, init: RequestInit = {}): Promise<Response> =>
    app.request(`http://localhost${path}`, {
      ...init,
      method,
      headers: { authorization: ROOT_TOKEN, ...headersOf(init) },
    });
  return { app, call, broker: dependencies.broker };
}

function headersOf(init: RequestInit): Record<string, string> {
  return Object.fromEntries(new Headers(init.headers));
}
