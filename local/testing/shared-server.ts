import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import { StartupError } from '../startup-error.ts';
import { controlSocketPath, SERVER_SAYS, type ServerAddress } from './control-socket.ts';
import type { ServerProgram } from './server-program.ts';

/** How long the server may take to be ready, with the installation of an engine before its first start. */
const READY_MS_MAX = 300_000;
const POLL_MS = 25;
/** How often this process starts a server if each ends at once, because another process holds the socket. */
const STARTS_MAX = 5;
const ADDRESS_LENGTH_MAX = 4096;
/** What a server that could not start has said, to be shown. */
const OUTPUT_LENGTH_MAX = 4000;
/** Variables of a test runner that would change how the server runs. */
const NOT_INHERITED = ['NODE_OPTIONS', 'NODE_TEST_CONTEXT', 'NODE_V8_COVERAGE'];

/** The connection of this process to the server that all processes of a test run share. */
export interface SharedServer {
  readonly address: ServerAddress;
  /** Tells the server that this process uses a namespace, which the server deletes when this process has ended. */
  owns(namespace: string): void;
}

let connecting: Promise<SharedServer> | undefined;

/** Lets the next call of `sharedServer` connect anew, since the server at this address does not answer. */
export function forgetSharedServer(): void {
  connecting = undefined;
}

/**
 * Connects to the server of this test run, and starts it if none runs: one engine, and one server, for all processes
 * that run in the same directory. It ends ten seconds after the last of them. Throws StartupError.
 */
export function sharedServer(program: ServerProgram): Promise<SharedServer> {
  connecting ??= connectOrStart(program).then(
    ({ socket, address }) => {
      // A later call starts a new server if this one has ended.
      socket.once('close', forgetSharedServer);
      return { address, owns: (namespace) => socket.write(`${namespace}\n`) };
    },
    (error: unknown) => {
      connecting = undefined;
      throw error;
    },
  );
  return connecting;
}

interface Connected {
  readonly socket: Socket;
  readonly address: ServerAddress;
}

async function connectOrStart(program: ServerProgram): Promise<Connected> {
  const { DYNABUS_ENGINE, DYNAMODB_ENDPOINT } = process.env;
  const path = controlSocketPath({
    directory: process.cwd(),
    program: program.file,
    version: manifest.version,
    engine: [DYNABUS_ENGINE, DYNAMODB_ENDPOINT],
  });
  const deadline = performance.now() + READY_MS_MAX;
  let started: Started | undefined;
  let starts = 0;
  while (performance.now() < deadline && starts <= STARTS_MAX) {
    const connected = await tryConnect(path);
    if (connected !== undefined) {
      started?.release();
      return connected;
    }
    if (started === undefined || started.hasEnded()) {
      const failure = started?.failure();
      if (failure !== undefined) throw new StartupError(failure);
      started = start(program, path);
      starts++;
    }
    await delay(POLL_MS);
  }
  throw new StartupError(
    `The server for tests at ${path} does not get ready. End the processes that hold it, and try again.`,
  );
}

/** Resolves with the connection once the server is ready; undefined if no server listens, or it ends before. */
function tryConnect(path: string): Promise<Connected | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path).setEncoding('utf8');
    let received = '';
    socket.on('error', () => resolve(undefined));
    socket.once('close', () => resolve(undefined));
    socket.setTimeout(READY_MS_MAX, () => socket.destroy());
    socket.on('data', (text: string) => {
      received = (received + text).slice(0, ADDRESS_LENGTH_MAX);
      if (!received.endsWith('\n')) return;
      // An open connection must not keep the tests from ending.
      socket.setTimeout(0).unref();
      resolve({ socket, address: JSON.parse(received) as ServerAddress });
    });
  });
}

interface Started {
  hasEnded(): boolean;
  /** Why it failed; undefined if it ended because another process had started a server first. */
  failure(): string | undefined;
  /** Lets it run without this process. */
  release(): void;
}

/** Starts the server as a process that outlives this one, and shows what it says until it is ready. */
function start({ file, nodeArguments }: ServerProgram, path: string): Started {
  const env = { ...process.env };
  for (const name of NOT_INHERITED) delete env[name];
  const child = spawn(process.execPath, [...nodeArguments, file, path], {
    detached: true,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  let ended: number | undefined;
  createInterface({ input: child.stderr }).on('line', (line) => {
    // The last line of a server that fails is its error, which is thrown.
    if (line.startsWith(SERVER_SAYS)) process.stderr.write(`${line}\n`);
    else output = `${output}${line}\n`.slice(-OUTPUT_LENGTH_MAX);
  });
  child.once('error', (error) => {
    output = `The server for tests could not be started: ${error.message}.`;
    ended = 1;
  });
  child.once('exit', (code) => {
    ended = code ?? 1;
  });
  return {
    hasEnded: () => ended !== undefined,
    failure: () => (ended === 0 ? undefined : output.trim() || 'The server for tests has ended.'),
    release: () => {
      child.stderr.destroy();
      child.unref();
    },
  };
}
