import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import type { AuthorizationRule } from '@azure/service-bus';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { administrationOf } from '../../interop/administration/admin-clients.ts';
import { plain } from '../../interop/gateway/gateway-clients.ts';

/** What attackers know: names of entities, and keys with the least of rights on them. */
export interface Scene {
  readonly port: number;
  readonly queue: string;
  /** A queue with sessions, and the same keys. */
  readonly sessions: string;
  /** With three subscriptions, and the same keys. */
  readonly topic: string;
  readonly keys: Readonly<Record<Right, string>>;
}

/** The name of a rule of every entity says what it may do; `nobody` is none, and its key made up. */
export type Right = 'nobody' | 'send' | 'listen' | 'manage';

export const SUBSCRIPTIONS = ['one', 'two', 'three'] as const;
const RIGHTS = {
  send: ['Send'],
  listen: ['Listen'],
  manage: ['Manage', 'Send', 'Listen'],
} as const;
const HOUR_SECONDS = 3600;
/** What a process counts for a token at least, bytes. */
const TOKEN_BYTES_MIN = 1024;
const REQUESTS_TOGETHER = 20;

/** Makes entities with new names, and keys for them. */
export async function createScene(port: number, name: string): Promise<Scene> {
  const admin = administrationOf(plain(port));
  const key = () => randomBytes(32).toString('base64');
  const keys = { nobody: key(), send: key(), listen: key(), manage: key() };
  const authorizationRules = (['send', 'listen', 'manage'] as const).map(
    (right): AuthorizationRule => ({
      claimType: 'SharedAccessKey',
      accessRights: [...RIGHTS[right]],
      keyName: right,
      primaryKey: keys[right],
      secondaryKey: key(),
    }),
  );
  const [queue, sessions, topic] = [`${name}-queue`, `${name}-sessions`, `${name}-topic`];
  await admin.createQueue(queue, { authorizationRules });
  await admin.createQueue(sessions, { authorizationRules, requiresSession: true });
  await admin.createTopic(topic, { authorizationRules });
  for (const subscription of SUBSCRIPTIONS) await admin.createSubscription(topic, subscription);
  return { port, queue, sessions, topic, keys };
}

/** Deletes the entities of a scene. */
export async function removeScene({ port, queue, sessions, topic }: Scene): Promise<void> {
  const admin = administrationOf(plain(port));
  await admin.deleteQueue(queue);
  await admin.deleteQueue(sessions);
  await admin.deleteTopic(topic);
}

/** Fills what the process remembers of tokens: it would grow through most of a search, and look like a leak. */
export async function fillTokenMemory(scene: Scene): Promise<void> {
  const url = `http://localhost:${scene.port}/${scene.queue}/messages?maxMessages=1`;
  const ask = async (number: number) => {
    const authorization = tokenOf(scene, 'listen', scene.queue, (it) => `${it}?${number}`);
    const answer = await fetch(url, { headers: { authorization } });
    assert.equal(answer.status, 200, await answer.text());
  };
  const count = BUDGETS.tokens.cacheBytes / TOKEN_BYTES_MIN;
  for (let from = 0; from < count; from += REQUESTS_TOGETHER) {
    await Promise.all(Array.from({ length: REQUESTS_TOGETHER }, (_, i) => ask(from + i)));
  }
}

/** A token for an entity, or for the whole namespace without one. By the vendor's recipe. */
export function tokenOf(
  { port, keys }: Scene,
  right: Right,
  entity = '',
  spelling: (address: string) => string = (address) => address,
): string {
  const sr = encodeURIComponent(spelling(`sb://localhost:${port}/${entity}`));
  const se = Math.floor(Date.now() / 1000) + HOUR_SECONDS;
  const sig = createHmac('sha256', keys[right]).update(`${sr}\n${se}`).digest('base64');
  const skn = right === 'nobody' ? 'RootManageSharedAccessKey' : right;
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${se}&skn=${skn}`;
}
