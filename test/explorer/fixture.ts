import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { sharedNamespaceCli } from '../local/cli.ts';
import { NamespaceClient } from '../local/local-namespaces.ts';
import { KIND_VARIABLE } from '../runner/test-engines.ts';
import { openPage, type PageOptions } from './browser.ts';

const JSON_BODY = { 'Content-Type': 'application/json' };
const BATCH = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' };

/** A message as a batch has it. */
export interface Sent {
  readonly Body: string;
  readonly BodyEncoding?: 'base64';
  readonly BrokerProperties?: object;
  readonly UserProperties?: object;
}

/** A local namespace of its own, whose page can be opened. */
export interface ExplorerFixture {
  readonly url: string;
  readonly client: NamespaceClient;
  /** Creates an entity from JSON. */
  create(path: string, settings: object): Promise<void>;
  send(path: string, messages: readonly Sent[]): Promise<void>;
  /** Sends messages to a queue, and dead-letters them. */
  deadLetter(queue: string, messages: readonly Sent[], reason: string): Promise<void>;
  /** Locks the next message of a queue; resolves with its lock token. */
  lock(path: string): Promise<string>;
  settle(path: string, lockToken: string, outcome: object): Promise<void>;
  /** The bodies of the messages of a queue. */
  bodies(path: string): Promise<readonly string[]>;
  /** Opens the page at a place, such as `#/entity/orders`. */
  open(place?: string, options?: PageOptions): ReturnType<typeof openPage>;
}

/**
 * The servers of this process, each with an engine of its own: the page shows the default namespace, which tests of
 * other processes must not touch.
 */
const kind = process.env[KIND_VARIABLE];
const engine = kind === undefined ? [] : ['--engine', kind];
const SERVERS = {
  Standard: sharedNamespaceCli({ args: engine }),
  Premium: sharedNamespaceCli({ args: [...engine, '--tier', 'premium'] }),
} as const;

/** Starts a server, and empties its default namespace. */
export async function startExplorer(
  t: TestContext,
  { tier = 'Standard' }: { readonly tier?: keyof typeof SERVERS } = {},
): Promise<ExplorerFixture> {
  const { url } = await SERVERS[tier]();
  const client = new NamespaceClient(url, undefined, PUBLIC_ROOT_KEY);
  await client.reset();
  const post = async (path: string, body: unknown, headers = JSON_BODY) => {
    const response = await client.request('POST', path, { body: JSON.stringify(body), headers });
    const text = await response.text();
    assert.ok(response.ok, text);
    return text;
  };
  const send = async (path: string, messages: readonly Sent[]) => {
    await post(`${path}/messages`, messages, BATCH);
  };
  return {
    url,
    client,
    create: async (path, settings) => {
      const body = JSON.stringify(settings);
      const response = await client.request('PUT', path, { body, headers: JSON_BODY });
      assert.equal(response.status, 201, await response.text());
    },
    send,
    deadLetter: async (queue, messages, reason) => {
      await send(queue, messages);
      const locked = JSON.parse(
        await post(`${queue}/messages/head?timeout=5&maxMessages=${messages.length}`, undefined),
      ) as { readonly BrokerProperties: { readonly LockToken: string } }[];
      const settlements = locked.map(({ BrokerProperties: { LockToken: lockToken } }) => ({
        lockToken,
        outcome: 'deadLetter',
        deadLetterReason: reason,
      }));
      await post(`${queue}/messages/$settle`, { settlements });
    },
    lock: async (path) => {
      const text = await post(`${path}/messages/head?timeout=5&maxMessages=1`, undefined);
      const [message] = JSON.parse(text) as {
        readonly BrokerProperties: { readonly LockToken: string };
      }[];
      assert.ok(message);
      return message.BrokerProperties.LockToken;
    },
    settle: async (path, lockToken, outcome) => {
      await post(`${path}/messages/$settle`, { settlements: [{ lockToken, ...outcome }] });
    },
    bodies: async (path) => {
      const response = await client.request('GET', `${path}/messages`);
      const messages = (await response.json()) as Sent[];
      return messages.map(({ Body }) => Body);
    },
    open: (place = '', options = {}) => openPage(t, `${url}/${place}`, options),
  };
}
