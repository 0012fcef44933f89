import { accessSync, constants, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileFault, fileFaultCode } from '../file-faults.ts';
import { StartupError, UsageError } from '../startup-error.ts';
import { endpointOf, engineAddress } from './engine-address.ts';
import { keepToOwner } from './engine-files.ts';
import { DYNAMODB_LOCAL_PACKAGE } from './engine-packages.ts';
import {
  ENGINE_KINDS,
  type EngineKind,
  findRecipe,
  isDataFile,
  type Missing,
  type Recipe,
} from './engine-recipes.ts';
import { installEngines } from './install-engines.ts';
import { type SupervisedProcess, startSupervised } from './supervised-process.ts';

const START_MS_MAX = 60_000;
const POLL_MS = 20;
const TRIES_MAX = 3;
/** What engines say when another process has their port, which may be free again by now. */
const PORT_TAKEN = /already in use/i;

/** A running engine that speaks the DynamoDB API. */
export interface Engine {
  /** Holds the access key, which is secret if this process started the engine; see `engineAddress`. */
  readonly endpoint: string;
  /** For messages to the user, for example `DynamoDB Local (Java 17), in memory`. */
  readonly name: string;
  /** Whether this process started the engine, so that no other process works on its data. */
  readonly startedHere: boolean;
  /**
   * Whether the engine answers a transaction while its commit is still in the queue. If it is killed at that
   * moment, it loses a transaction that it acknowledged. True for DynamoDB Local with a data file.
   */
  readonly commitsLate: boolean;
  /**
   * The last error line of the engine's output, to explain a failure. Empty if there is none or if this
   * process did not start the engine.
   */
  lastError(): string;
  /** Resolves with the reason if the engine ends without a call of `stop`. */
  readonly failed: Promise<string>;
  /** Ends the engine if this process started it. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Which engine to start, and where it keeps its data. */
export interface EngineOptions {
  /** An engine kind. Default: `DYNABUS_ENGINE`, or else the first that can run on this machine. */
  readonly kind?: string | undefined;
  /** Keeps the data over restarts; created if missing. Default: in memory. */
  readonly dataDirectory?: string | undefined;
  /** Receives a sentence about something that the user should correct. */
  readonly warn?: (sentence: string) => void;
  /** Receives a line about the installation of the engines, before a first start. */
  readonly say?: (line: string) => void;
}

/**
 * Starts an engine on a free port and waits until it answers. If `DYNAMODB_ENDPOINT` is set, uses the engine
 * there instead and does not wait. An engine that it starts ends with this process at the latest. Throws
 * StartupError.
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint) return externalEngine(endpoint, options);
  const directory = options.dataDirectory && resolve(options.dataDirectory);
  checkEngineOptions(options);
  const recipe = await chooseRecipe(options, directory);
  if (directory && !keepToOwner(directory) && recipe.hasSecretFileName) {
    options.warn?.(
      `Other users of this machine can list ${directory}, where the name of the data file is the key to the data: restrict it to yourself with chmod 700, or choose another directory with --data.`,
    );
  }
  return await startOnFreePort(recipe, directory);
}

/** Checks the options, and makes the data directory, before anything is started. Throws UsageError. */
export function checkEngineOptions(options: EngineOptions): void {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint) {
    externalEngine(endpoint, options);
    return;
  }
  const directory = options.dataDirectory && resolve(options.dataDirectory);
  if (directory) requireWritable(directory);
  candidates(options.kind ?? process.env['DYNABUS_ENGINE'], directory);
}

async function startOnFreePort(
  { name, command, host, commitsLate, prepare }: Recipe,
  directory: string | undefined,
): Promise<Engine> {
  for (let tries = 1; ; tries++) {
    const port = await freePort(host);
    const preparation = prepare(directory, port);
    const engine = startSupervised(command, preparation.arguments, preparation.files);
    try {
      return await untilReady(engine, {
        endpoint: endpointOf(host, port, preparation.accessKey),
        name: `${name}, ${directory ? `data in ${directory}` : 'in memory'}`,
        commitsLate: commitsLate && directory !== undefined,
      });
    } catch (error) {
      // Another process may have taken the port after `freePort` found it and before the engine used it.
      const wasTaken = PORT_TAKEN.test(String(error)) || !(await isFree(host, port));
      if (tries === TRIES_MAX || !wasTaken) throw error;
    } finally {
      preparation.clean();
    }
  }
}

function externalEngine(endpoint: string, { kind, dataDirectory }: EngineOptions): Engine {
  if (kind !== undefined || dataDirectory !== undefined) {
    throw new UsageError(
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

/**
 * Chooses the engine, and installs it if only its package is missing. Data belongs to the engine that wrote it: another
 * engine would start without it, as if the data were lost.
 */
async function chooseRecipe(
  { kind = process.env['DYNABUS_ENGINE'], say = () => {} }: EngineOptions,
  directory: string | undefined,
): Promise<Recipe> {
  const kinds = candidates(kind, directory);
  const found = findFirst(kinds);
  if (!('missing' in found)) return found;
  if (!found.canInstall || !(await installEngines(say))) throw noEngine(found);
  const installed = findFirst(kinds);
  if ('missing' in installed) throw noEngine(installed);
  return installed;
}

/** The engines that may run, in order of preference. Throws UsageError. */
function candidates(
  kind: string | undefined,
  directory: string | undefined,
): readonly EngineKind[] {
  if (kind !== undefined && !isEngineKind(kind)) {
    throw new UsageError(`There is no engine '${kind}'; there are ${ENGINE_KINDS.join(' and ')}.`);
  }
  const writer = directory === undefined ? undefined : writerOf(directory);
  if (kind !== undefined && writer !== undefined && kind !== writer) {
    throw new UsageError(`${directory} holds data of ${writer}, which ${kind} cannot read.`);
  }
  const wanted = kind ?? writer;
  return wanted === undefined ? ENGINE_KINDS : [wanted];
}

/** The first engine that can start, or what is missing of all. */
function findFirst(kinds: readonly EngineKind[]): Recipe | Missing {
  const missing: Missing[] = [];
  for (const kind of kinds) {
    const found = findRecipe[kind]();
    if (!('missing' in found)) return found;
    missing.push(found);
  }
  return {
    missing: missing.map((each) => each.missing).join('; '),
    canInstall: missing.some(({ canInstall }) => canInstall),
  };
}

function noEngine({ missing, canInstall }: Missing): StartupError {
  const remedy = canInstall
    ? `Install one in your project, npm install --save-dev ${DYNAMODB_LOCAL_PACKAGE},`
    : 'Install a Java 17 runtime,';
  return new StartupError(
    `No engine can run here: ${missing}. ${remedy} or set DYNAMODB_ENDPOINT.`,
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
    // What exists already is no directory.
    const reason = fileFaultCode(cause) === 'EEXIST' ? 'it is not a directory' : fileFault(cause);
    throw new UsageError(`The data directory ${directory} cannot be used: ${reason}.`, { cause });
  }
}

/** Finds a free port of an address. Another process may take it before the caller does. */
export async function freePort(host: string): Promise<number> {
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

/** Waits until a started engine answers. Throws StartupError if it ends or is too slow. */
async function untilReady(
  process: SupervisedProcess,
  known: Pick<Engine, 'endpoint' | 'name' | 'commitsLate'>,
): Promise<Engine> {
  let ended: string | undefined;
  let stopping = false;
  const failed = process.ended.then((output) => {
    ended = output;
    return stopping ? new Promise<never>(() => {}) : output;
  });
  const stop = async () => {
    stopping = true;
    await process.stop();
  };
  const deadline = Date.now() + START_MS_MAX;
  const { url } = engineAddress(known.endpoint);
  while (!(await isReady(url))) {
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
 * Whether an engine answers at a URL. A refusal is enough: an engine that refuses an unsigned request can
 * serve a signed one. An answer of another server on this port has no request id.
 */
async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await response.arrayBuffer();
    return response.headers.has('x-amzn-requestid');
  } catch {
    return false;
  }
}
