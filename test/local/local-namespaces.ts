import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { localAdmission } from '../../local/local-admission.ts';
import { type LocalNamespace, serveNamespace } from '../../local/namespace.ts';
import type { ConfigPort } from '../../local/namespaces/config-port.ts';
import { formatConnectionString } from '../../shared/auth/connection-string.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { engineOfTests, ROOT_KEY } from '../support/start-broker.ts';
import { QUEUE_ENTRY } from './cli.ts';

const ROOT = 'RootManageSharedAccessKey';
const HOUR_MS = 3_600_000;

interface RequestOptions {
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the root rule of the namespace. */
  readonly rule?: string;
  readonly key?: string;
}

/** A client of one namespace over HTTP; without a name, of the default namespace. */
export class NamespaceClient {
  readonly name: string | undefined;
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, name: string | undefined, key: string = ROOT_KEY) {
    this.#url = url;
    this.name = name;
    this.#key = key;
  }

  /** The name of a rule in this namespace. */
  ruleName(rule: string = ROOT): string {
    return this.name === undefined ? rule : `${rule}@${this.name}`;
  }

  /** A token for the whole address. */
  token({ rule = ROOT, key = this.#key }: RequestOptions = {}): string {
    return createSasToken({
      audience: this.#url,
      keyName: this.ruleName(rule),
      key,
      expiresAt: Date.now() + HOUR_MS,
    });
  }

  connectionString(rule: string = ROOT, key: string = this.#key): string {
    const { host } = new URL(this.#url);
    return formatConnectionString({ host, keyName: this.ruleName(rule), key, isLocal: true });
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { body, headers } = options;
    return await fetch(`${this.#url}/${path}`, {
      method,
      headers: { Authorization: this.token(options), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  async createQueue(name: string, entry = QUEUE_ENTRY): Promise<void> {
    const headers = { 'Content-Type': 'application/atom+xml' };
    const response = await this.request('PUT', name, { body: entry, headers });
    assert.equal(response.status, 201, await response.text());
  }

  async send(path: string, body: string, properties: object = {}): Promise<void> {
    const headers = { BrokerProperties: JSON.stringify(properties) };
    const response = await this.request('POST', `${path}/messages`, { body, headers });
    assert.equal(response.status, 201, await response.text());
  }

  /** Receives and deletes the next message now; undefined = there is none. */
  async take(path: string): Promise<string | undefined> {
    const response = await this.request('DELETE', `${path}/messages/head?timeout=0`);
    const text = await response.text();
    if (response.status === 204) return undefined;
    assert.equal(response.status, 200, text);
    return text;
  }

  /** Locks the next message now. Resolves with its delivery count; undefined = there is none. */
  async lock(path: string): Promise<number | undefined> {
    const response = await this.request('POST', `${path}/messages/head?timeout=0`);
    const properties = response.headers.get('BrokerProperties');
    await response.text();
    if (properties === null) return undefined;
    return (JSON.parse(properties) as { readonly DeliveryCount: number }).DeliveryCount;
  }

  /** The status of a request to a control route, and its JSON. */
  async control(method: string, path: string, body?: unknown, options: RequestOptions = {}) {
    const response = await this.request(method, path, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...options,
      headers: { 'Content-Type': 'application/json', ...options.headers },
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  }

  /** Moves the clock. */
  async advance(seconds: number): Promise<void> {
    const { status, json } = await this.control('POST', '$clock', { advanceSeconds: seconds });
    assert.equal(status, 200, JSON.stringify(json));
  }

  /** The time by its clock, epoch ms. */
  async now(): Promise<number> {
    return Date.parse((await this.control('GET', '$clock')).json.now);
  }

  async reset(): Promise<void> {
    const { status, json } = await this.control('POST', '$reset', {});
    assert.equal(status, 200, JSON.stringify(json));
  }
}

/** A local server in this process, with namespaces that no other test uses. */
export interface LocalNamespaces {
  readonly server: LocalNamespace;
  readonly url: string;
  readonly port: number;
  /** What was reported as a fault of the server. */
  readonly faults: readonly unknown[];
  /** A client of a new namespace. */
  fresh(): NamespaceClient;
  /** A client of a namespace; without a name, of the default one. */
  of(name?: string): NamespaceClient;
}

/** How to start one. */
interface StartOptions {
  /** Stops the server after this test; absent = the caller stops it. */
  readonly t?: TestContext;
  readonly config?: ConfigPort;
  readonly rootKey?: string;
}

/** Starts one over the engine of the test run. */
export async function startLocalNamespaces({
  t,
  config = TEST_CONFIG,
  rootKey = ROOT_KEY,
}: StartOptions = {}): Promise<LocalNamespaces> {
  const { url: endpoint, accessKey } = engineOfTests();
  const address = new URL(endpoint);
  if (accessKey !== undefined) address.username = accessKey;
  const faults: unknown[] = [];
  const server = await serveNamespace(
    {
      endpoint: address.href,
      name: 'the engine of the tests',
      startedHere: false,
      commitsLate: false,
      lastError: () => '',
      failed: new Promise(() => {}),
      stop: async () => {},
    },
    {
      host: '127.0.0.1',
      port: 0,
      tier: 'Standard',
      certificate: undefined,
      allowedOrigins: [],
      rootKey,
      admission: localAdmission({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] }),
      config,
      say: () => {},
      warn: () => {},
      reportError: (fault) => faults.push(fault),
    },
  );
  t?.after(() => server.stop());
  const { url } = server;
  const of = (name?: string) => new NamespaceClient(url, name, rootKey);
  const fresh = () => of(`t-${randomBytes(6).toString('hex')}`);
  return { server, url, port: Number(new URL(url).port), faults, fresh, of };
}

/** The configuration that these tests use: settings of entities by path, in the order of their creation. */
export const TEST_CONFIG: ConfigPort = {
  parse: (body) => {
    if (!Array.isArray(body)) throw new RangeError('The configuration must be a list.');
    return async (management) => {
      for (const [path, settings] of body) await management.create(path, settings);
    };
  },
  isRefusal: (error) => error instanceof RangeError,
};
