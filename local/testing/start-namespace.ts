import { randomBytes } from 'node:crypto';
import { RefusalError, UnreachableError } from '../../client/client-errors.ts';
import { putConsumer, removeConsumer } from '../../client/consumers.ts';
import { readPath } from '../../client/entity-path.ts';
import { NamespaceClient } from '../../client/namespace-client.ts';
import { readAll } from '../../client/read-all.ts';
import {
  type ConnectionString,
  formatConnectionString,
} from '../../shared/auth/connection-string.ts';
import type { Duration, NamespaceDescription } from '../config/description.ts';
import type {
  ConsumeSettings,
  Consumption,
  EmulatorConfiguration,
  NamespaceClock,
  TestMessage,
  TestNamespace,
} from './api.ts';
import { checkedDescription } from './checked-description.ts';
import { HandlerServer, type MessageHandler } from './handler-server.ts';
import { milliseconds } from './milliseconds.ts';
import { serverProgram } from './server-program.ts';
import { forgetSharedServer, sharedServer } from './shared-server.ts';
import { toTestMessage } from './test-message.ts';

const ROOT_RULE = 'RootManageSharedAccessKey';
const NAME_BYTES = 8;
const MESSAGES_MAX = 10_000;
/** Tests may set a date of their own in this process; tokens must not depend on it. */
const TOKEN_EXPIRES_AT = Date.UTC(9999, 0, 1);
const JSON_TYPE = { 'Content-Type': 'application/json' } as const;

/**
 * Starts a namespace of its own for a test, with the entities of a description. The first call of a test run starts
 * the server and the engine, which takes seconds; each further call takes milliseconds, also in other processes of the
 * run. The namespace ends with `stop`, or with this process. Rejects with a sentence if the description is wrong, or no
 * engine can run here.
 */
export async function startNamespace(
  description: NamespaceDescription | EmulatorConfiguration = {},
): Promise<TestNamespace> {
  try {
    return await start(description);
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    // The server has just ended, and the end of the connection to it has not been noticed yet.
    forgetSharedServer();
    return await start(description);
  }
}

async function start(
  description: NamespaceDescription | EmulatorConfiguration,
): Promise<TestNamespace> {
  const { address, owns } = await sharedServer(serverProgram());
  const name = `test-${randomBytes(NAME_BYTES).toString('hex')}`;
  const { host, key } = address;
  const connection = { host, key, keyName: `${ROOT_RULE}@${name}`, isLocal: true };
  const namespace = new ServedNamespace(name, connection);
  owns(name);
  try {
    await namespace.declare(description);
    return namespace;
  } catch (error) {
    // What cannot be deleted now is deleted when this process ends.
    await namespace.stop().catch(() => {});
    throw error;
  }
}

/** A namespace of the server that all processes of a test run share. */
class ServedNamespace implements TestNamespace, NamespaceClock {
  readonly name: string;
  readonly connectionString: string;
  readonly adminConnectionString: string;
  readonly url: string;
  readonly #connection: NamespaceClient;
  readonly #handlers = new HandlerServer();
  /** What makes the consumers of functions anew after a reset, by their paths. */
  readonly #consumptions = new Map<string, () => Promise<unknown>>();
  #isStopped = false;

  constructor(name: string, connection: ConnectionString) {
    this.name = name;
    this.connectionString = formatConnectionString(connection);
    this.adminConnectionString = this.connectionString;
    this.#connection = new NamespaceClient(connection, TOKEN_EXPIRES_AT);
    this.url = this.#connection.address;
  }

  get clock(): NamespaceClock {
    return this;
  }

  /** A call after the end would begin the namespace anew. */
  get #client(): NamespaceClient {
    if (!this.#isStopped) return this.#connection;
    throw new Error('The namespace has been stopped. Start another one with startNamespace.');
  }

  async declare(description: NamespaceDescription | EmulatorConfiguration): Promise<void> {
    await this.#change('PUT', '$config', checkedDescription(description));
  }

  async now(): Promise<Date> {
    return timeIn(await this.#client.call({ method: 'GET', path: '$clock' }));
  }

  async advance(by: Duration): Promise<Date> {
    return timeIn(
      await this.#change('POST', '$clock', { advanceSeconds: milliseconds(by) / 1000 }),
    );
  }

  async advanceTo(instant: Date | string): Promise<Date> {
    const time = new Date(instant);
    if (Number.isNaN(time.getTime())) {
      throw new RangeError(`'${instant}' is not an instant. Write it like '2030-01-01T00:00:00Z'.`);
    }
    return timeIn(await this.#change('POST', '$clock', { now: time.toISOString() }));
  }

  async messages(path: string): Promise<readonly TestMessage[]> {
    const messages: TestMessage[] = [];
    const pages = readAll(this.#client, readPath(String(path)), {
      skipped: (sentence) => {
        throw new Error(sentence);
      },
    });
    for await (const page of pages) {
      messages.push(...page.map(toTestMessage));
      if (messages.length > MESSAGES_MAX) {
        throw new RangeError(
          `${path} holds more than ${MESSAGES_MAX} messages: receive them instead.`,
        );
      }
    }
    return messages;
  }

  async consume(
    path: string,
    handler: MessageHandler,
    settings: ConsumeSettings = {},
  ): Promise<Consumption> {
    const { name = `handler-${randomBytes(NAME_BYTES).toString('hex')}`, ...others } = settings;
    const at = readPath(String(path)).text;
    const timeoutMs = milliseconds(others.timeout ?? { minutes: 1 });
    const target = await this.#handlers.add(name, handler, timeoutMs);
    const { batchWindow, ...members } = others;
    const put = () =>
      putConsumer(this.#client, at, name, {
        ...members,
        target,
        timeout: iso(timeoutMs),
        ...(batchWindow !== undefined && { batchWindow: iso(milliseconds(batchWindow)) }),
      });
    try {
      await put();
    } catch (error) {
      this.#handlers.remove(target);
      throw error;
    }
    const key = `${at}/consumers/${name}`.toLowerCase();
    this.#consumptions.set(key, put);
    const stop = async () => {
      // Another function may have its name by now.
      const isCurrent = this.#consumptions.get(key) === put;
      if (isCurrent) this.#consumptions.delete(key);
      try {
        // A queue that was deleted has no consumer left.
        if (isCurrent && !this.#isStopped) {
          await removeConsumer(this.#client, at, name).catch(ignoreMissing);
        }
      } finally {
        this.#handlers.remove(target);
      }
    };
    return { stop, [Symbol.asyncDispose]: stop };
  }

  async reset(): Promise<void> {
    await this.#change('POST', '$reset', {});
    // Functions get messages as before, as clients that stay connected do. One whose entity is gone has no more to do.
    for (const put of this.#consumptions.values()) await put().catch(ignoreMissing);
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#connection.call({ method: 'DELETE', path: '$namespace', headers: JSON_TYPE });
    await this.#handlers.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #change(method: 'PUT' | 'POST', path: string, body: unknown) {
    return this.#client.call({ method, path, headers: JSON_TYPE, body: JSON.stringify(body) });
  }
}

/** Rethrows every error but the refusal of an entity that does not exist. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof RefusalError && error.status === 404)) throw error;
}

/** A length of time as ISO 8601 text. */
function iso(ms: number): string {
  return `PT${ms / 1000}S`;
}

function timeIn({ text }: { readonly text: string }): Date {
  return new Date((JSON.parse(text) as { readonly now: string }).now);
}
