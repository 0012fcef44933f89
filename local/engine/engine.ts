import { accessSync, constants, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartupError } from '../startup-error.ts';
import { endpointOf, engineAddress } from './engine-address.ts';
import { keepToOwner } from './engine-files.ts';
import {
  ENGINE_KINDS,
  type EngineKind,
  findRecipe,
  isDataFile,
  type Recipe,
} from './engine-recipes.ts';
import { type GuardedProcess, startGuarded } from './supervised-process.ts';

const START_MS_MAX = 60_000;
const POLL_MS = 20;
const TRIES_MAX = 3;

/** A running engine that speaks the DynamoDB API. */
export interface Engine {
  /** Holds the access key, which is secret where the engine was started here: see `engineAddress`. */
  readonly endpoint: string;
  /** As users are told, for instance `DynamoDB Local (Java 17), in memory`. */
  readonly name: string;
  /** Whether it was started here, so that nobody else works on its data. */
  readonly startedHere: boolean;
  /**
   * Whether it answers a transaction when the commit is in line, not done: killed at that moment, it
   * loses what it acknowledged. So does DynamoDB Local where it writes to a file.
   */
  readonly commitsLate: boolean;
  /** The last error that the engine told of, to explain a failure; empty where it is not ours. */
  lastError(): string;
  /** Resolves with the reason should the engine end without having been asked to. */
  readonly failed: Promise<string>;
  /** Ends the engine if it was started here. Resolves once it is gone. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** An engine kind; absent = `DYNABUS_ENGINE`, or else the first that can run here. */
  readonly kind?: string | undefined;
  /** Kept over restarts; created if missing. Absent = in memory. */
  readonly dataDirectory?: string | undefined;
  /** Told in a sentence what its user should put right. */
  readonly warn?: (sentence: string) => void;
}

/**
 * Starts an engine on a free port and waits until it answers, or takes the one at
 * `DYNAMODB_ENDPOINT`. It ends with this process at the latest. Throws StartupError.
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint) return engineElsewhere(endpoint, options);
  const directory = options.dataDirectory && resolve(options.dataDirectory);
  if (directory) requireWritable(directory);
  const recipe = chooseRecipe(options.kind ?? process.env['DYNABUS_ENGINE'], directory);
  if (directory && !keepToOwner(directory) && recipe.namesAreSecret) {
    options.warn?.(
      `Other users of this machine may look into ${directory}, where the name of the data file is the key to the data: make it yours alone with chmod 700, or choose another directory with --data.`,
    );
  }
  return await startOnFreePort(recipe, directory);
}

async function startOnFreePort(
  { name, command, host, commitsLate, prepare }: Recipe,
  directory: string | undefined,
): Promise<Engine> {
  for (let tries = 1; ; tries++) {
    const port = await freePort(host);
    const preparation = prepare(directory, port);
    const engine = startGuarded(command, preparation.arguments, preparation.files);
    try {
      return await answering(engine, {
        endpoint: endpointOf(host, port, preparation.accessKey),
        name: `${name}, ${directory ? `data in ${directory}` : 'in memory'}`,
        commitsLate: commitsLate && directory !== undefined,
      });
    } catch (error) {
      // Between our look at the port and the engine's, somebody else may have taken it.
      if (tries === TRIES_MAX || (await isFree(host, port))) throw error;
    } finally {
      preparation.clean();
    }
  }
}

function engineElsewhere(endpoint: string, { kind, dataDirectory }: EngineOptions): Engine {
  if (kind !== undefined || dataDirectory !== undefined) {
    throw new StartupError(
      'DYNAMODB_ENDPOINT is set, so no engine is started here: unset it, or leave out the options for an engine and its data.',
    );
  }
  const { url } = engineAddress(endpoint);
  return {
    endpoint,
    name: `the one at ${url}`,
    startedHere: false,
    commitsLate: false,
    lastError: () => '',
    failed: new Promise(() => {}),
    stop: async () => {},
  };
}

/** Data belongs to the engine that wrote it: to start another would look like having lost it. */
function chooseRecipe(kind: string | undefined, directory: string | undefined): Recipe {
  if (kind !== undefined && !isEngineKind(kind)) {
    throw new StartupError(
      `There is no engine '${kind}'; there are ${ENGINE_KINDS.join(' and ')}.`,
    );
  }
  const writer = directory === undefined ? undefined : writerOf(directory);
  if (kind !== undefined && writer !== undefined && kind !== writer) {
    throw new StartupError(`${directory} holds data of ${writer}, which ${kind} cannot read.`);
  }
  const wanted = kind ?? writer;
  const found = (wanted === undefined ? ENGINE_KINDS : [wanted]).map((each) => findRecipe[each]());
  const missing: string[] = [];
  for (const recipe of found) {
    if (!('missing' in recipe)) return recipe;
    missing.push(recipe.missing);
  }
  throw new StartupError(
    `No engine can run here: ${missing.join('; ')}. Install a Java 17 runtime, or set DYNAMODB_ENDPOINT.`,
  );
}

function isEngineKind(text: string): text is EngineKind {
  return ENGINE_KINDS.some((kind) => kind === text);
}

function writerOf(directory: string): EngineKind | undefined {
  const names = readdirSync(directory);
  return ENGINE_KINDS.find((kind) => names.some(isDataFile[kind]));
}

function requireWritable(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartupError(`The data directory ${directory} cannot be written to.`, { cause });
  }
}

async function freePort(host: string): Promise<number> {
  const server = await listenOn(host, 0);
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}

async function isFree(host: string, port: number): Promise<boolean> {
  try {
    const server = await listenOn(host, port);
    await new Promise((resolve) => server.close(resolve));
    return true;
  } catch {
    return false;
  }
}

async function listenOn(host: string, port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  return server;
}

async function answering(
  process: GuardedProcess,
  known: Pick<Engine, 'endpoint' | 'name' | 'commitsLate'>,
): Promise<Engine> {
  let ended: string | undefined;
  let stopping = false;
  const failed = process.ended.then((words) => {
    ended = words;
    return stopping ? new Promise<never>(() => {}) : words;
  });
  const stop = async () => {
    stopping = true;
    await process.stop();
  };
  const deadline = Date.now() + START_MS_MAX;
  const { url } = engineAddress(known.endpoint);
  while (!(await answers(url))) {
    if (ended !== undefined) throw new StartupError(`The engine did not start: ${ended}`);
    if (Date.now() > deadline) {
      await stop();
      throw new StartupError(`The engine did not answer within ${START_MS_MAX / 1000} s.`);
    }
    await delay(POLL_MS);
  }
  return { ...known, startedHere: true, lastError: () => process.lastError(), failed, stop };
}

/**
 * A refusal will do: an engine that can refuse an unsigned request can serve a signed one. What
 * others might answer on this port bears no request id.
 */
async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await response.arrayBuffer();
    return response.headers.has('x-amzn-requestid');
  } catch {
    return false;
  }
}
