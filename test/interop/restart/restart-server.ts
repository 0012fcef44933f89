import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import {
  type Cli,
  descendants,
  startNamespaceCli,
  temporaryDirectory,
  untilEnded,
} from '../../local/cli.ts';
import { ApiClient } from '../../support/api-client.ts';
import { expectStatus } from '../../support/test-broker.ts';

const ROOT_KEY = 'SAS_KEY_VALUE';
/** A warning, not a fault: other tests listen on the usual ports too. */
const USUAL_PORT_TAKEN = /^Port 567[12] on .+ is taken by another process.*\n/gm;

/** How a server ends: killed alone, killed with its engine like a power failure, or stopped. */
export const ENDINGS = ['kill -9', 'kill -9 with its engine', 'SIGTERM'] as const;
export type Ending = (typeof ENDINGS)[number];

/** `npm start` over one data directory and on one port, which a test ends and starts again. */
export class RestartServer {
  readonly connectionString: string;
  readonly #t: TestContext;
  readonly #args: readonly string[];
  readonly #api: ApiClient;
  /** Called before a move of the clock, with how far it moves, ms: what comes due is delivered before its answer. */
  onMove: (ms: number) => void = () => {};
  #cli: Cli | undefined;
  /** The server's descendants, found in advance so that the kill comes without delay. */
  #below: readonly number[] = [];

  private constructor(t: TestContext, engine: string, port: number) {
    this.#t = t;
    this.#args = ['--engine', engine, '--data', temporaryDirectory(t), '--port', String(port)];
    this.#api = new ApiClient(`http://localhost:${port}`, ROOT_KEY);
    this.connectionString = `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;`;
  }

  static async start(t: TestContext, engine: string): Promise<RestartServer> {
    const server = new RestartServer(t, engine, await freePort());
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#cli = await startNamespaceCli(this.#t, { args: this.#args });
    this.#below = descendants(this.#cli.child.pid);
  }

  /** Ends the server. Resolves when it and its engine have ended. */
  async end(how: Ending): Promise<void> {
    const cli = this.#cli;
    assert.ok(cli, 'a server runs');
    if (how === 'SIGTERM') {
      cli.child.kill('SIGTERM');
      assert.equal(await cli.ended, 0, cli.errors());
    } else {
      // The server first, so that it does not report that its engine has ended.
      cli.child.kill('SIGKILL');
      if (how === 'kill -9 with its engine') {
        for (const pid of this.#below) process.kill(pid, 'SIGKILL');
      }
      await cli.ended;
    }
    await untilEnded(this.#below);
    const faults = cli.errors().replaceAll(USUAL_PORT_TAKEN, '');
    assert.equal(faults, '', 'the server reported no faults');
  }

  /** The server's time, epoch ms. */
  async now(): Promise<number> {
    const answer = await this.#api.request('GET', '$clock');
    return Date.parse(answer.json<{ readonly now: string }>().now);
  }

  /** The number of messages in an entity, in any state. */
  async count(path: string): Promise<number> {
    const { text } = await this.#api.request('GET', path);
    return Number(/<MessageCount>(\d+)</.exec(text)?.[1]);
  }

  /** Moves the server's clock ahead to an instant, epoch ms, unless it has passed. */
  async setClock(instant: number): Promise<void> {
    const before = await this.now();
    if (instant <= before) return;
    this.onMove(instant - before);
    const answer = await this.#api.request('POST', '$clock', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ now: new Date(instant).toISOString() }),
    });
    expectStatus(answer, 200);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}
