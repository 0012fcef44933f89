import assert from 'node:assert/strict';
import { Authorization } from '../../amqp/authorization/authorization.ts';
import { NamespaceBinding } from '../../amqp/service/namespace-binding.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { isSignedWith } from '../../shared/auth/sas-token-text.ts';
import { TokenCache } from '../../shared/auth/token-cache.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import {
  type AuthorizationRule,
  QUEUE_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { FAKE_NOW } from './fake-broker.ts';
import { fakeManageDependencies } from './fake-entity-store.ts';
import { fakeEntity, findableEntities, httpDependencies, rule } from './http-fixture.ts';

export const HOUR = 3_600_000;
/** A token of a rule for a path. */
export const token = (
  path: string,
  keyName: string,
  changes: { key?: string; expiresAt?: number } = {},
) =>
  createSasToken({
    audience: `sb://localhost${path}`,
    keyName,
    key: `${keyName}-primary`,
    expiresAt: FAKE_NOW + HOUR,
    ...changes,
  });

/** A queue with these rules. */
export const withRules = (key: string, ...authorizationRules: AuthorizationRule[]): Entity =>
  fakeEntity(key, { ...QUEUE_DEFAULTS, authorizationRules });

/** The authorization of one AMQP connection, and counters of its cost. */
export function connectAuthorized(room = Number.POSITIVE_INFINITY) {
  const counts = { tokensTried: 0, signatures: 0, authorized: 0, closed: 0, entityReads: 0 };
  let now = FAKE_NOW;
  const clock = { now: () => now };
  let namespaceRules = [rule('root', 'Manage', 'Send', 'Listen'), rule('listener', 'Listen')];
  const entities: Record<string, Entity> = {
    q: withRules('q', rule('own', 'Send'), rule('ownListener', 'Listen')),
    r: withRules('r', rule('own', 'Listen')),
    'a/b/c': withRules('a/b/c', rule('own', 'Send')),
  };
  const found = findableEntities(entities);
  const tokens = new TokenCache(new AgeClock(clock, () => 0), (one, key) => {
    counts.signatures++;
    return isSignedWith(one, key);
  });
  const dependencies = httpDependencies({
    clock,
    tokens,
    entities: {
      ...found,
      find: (key) => {
        counts.entityReads++;
        return found.find(key);
      },
    },
    namespaceKeys: {
      rules: async () => {
        counts.tokensTried++;
        return namespaceRules;
      },
    },
  });
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return true;
  };
  const { rules } = fakeManageDependencies({ keyName: 'root', key: 'root-primary' }).management;
  const authorization = new Authorization(
    new NamespaceBinding(
      { ...dependencies, rules, scheduler: realScheduler, reportFault: assert.ifError },
      undefined,
      () => {},
    ),
    {
      tryHold: (bytes) => (held + bytes > room ? false : hold(bytes)),
      release: (bytes) => hold(-bytes),
    },
    { authorized: () => counts.authorized++, refusedTooOften: () => counts.closed++ },
  );
  authorization.opened('localhost');
  const count = async (work: () => Promise<unknown>) => {
    const before = { ...counts };
    await work();
    return {
      tokensTried: counts.tokensTried - before.tokensTried,
      signatures: counts.signatures - before.signatures,
    };
  };
  const may = async (path: string, right: 'Send' | 'Listen') => {
    try {
      await authorization.require(path, parseEntityPath(path), [right]);
      return true;
    } catch (error) {
      assert.ok(error instanceof BrokerError);
      return false;
    }
  };
  return {
    authorization,
    held: () => held,
    counts,
    count,
    may,
    entities,
    advance: (ms: number) => {
      now += ms;
    },
    setNamespaceRules: (...rules: AuthorizationRule[]) => {
      namespaceRules = rules;
    },
  };
}
