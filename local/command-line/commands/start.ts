import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { formatConnectionString } from '../../../shared/auth/connection-string.ts';
import { ROOT_KEY_NAME } from '../../../shared/auth/root-rule.ts';
import { readConfigFile } from '../../config/read-file.ts';
import { createDynamoClient } from '../../engine/dynamo-client.ts';
import { checkEngineOptions, type Engine, startEngine } from '../../engine/engine.ts';
import { engineAddress } from '../../engine/engine-address.ts';
import { probeEngine, untilEngineAnswers } from '../../engine/engine-wait.ts';
import { localAdmission } from '../../local-admission.ts';
import { applying, CONFIG } from '../../namespaces/config-port.ts';
import { type Options, readOptions, type WrittenOptions } from '../../options.ts';
import { type Readiness, type ReadyFile, readyFile } from '../../ready-file.ts';
import { chooseRootKey } from '../../root-key.ts';
import { requireFreePort } from '../../server.ts';
import { StartupError } from '../../startup-error.ts';
import { StopRequests } from '../../stop-requests.ts';
import { welcomeText } from '../../welcome.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type Io } from '../io.ts';

/** Serves a namespace on this machine until a signal arrives or npm, which has started it, ends. */
export const runStart: RunCommand<WrittenOptions> = async (io, _, written) => {
  const options = readOptions(written, io.env);
  const config = options.config === undefined ? undefined : await readConfigFile(options.config);
  const stopping = new StopRequests();
  const start = {
    options,
    stopping,
    rootKey: chooseRootKey(options),
    outputs: outputsOf(io, options),
    ready: options.readyFile === undefined ? undefined : readyFile(options.readyFile),
  };
  const admission = localAdmission(options);
  const { say, warn } = start.outputs;
  const report = options.quiet ? warn : say;
  checkEngineOptions({ kind: options.engine, dataDirectory: options.dataDirectory });
  if (options.certificate !== undefined) {
    // A wrong file is refused before an engine is started in vain.
    const { obtainCertificate } = await import('../../certificate.ts');
    obtainCertificate(options.certificate, Date.now());
  }
  await requireFreePort(options.host, options.port);
  say('Starting the engine');
  // The code of the namespace takes about as long to load as an engine to start.
  const [engine, namespaceCode] = await Promise.all([
    startEngine({ kind: options.engine, dataDirectory: options.dataDirectory, warn, say: report }),
    import('../../namespace.ts'),
  ]);
  const serve = async () => {
    const namespace = await namespaceCode.serveNamespace(engine, {
      ...options,
      rootKey: start.rootKey,
      admission,
      config: CONFIG,
      say,
      warn,
      reportError: warn,
    });
    if (config !== undefined) {
      await namespace.configure(applying(config));
      say(`Entities of ${options.config} are ready`);
    }
    return namespace;
  };
  await runNamespace(engine, start, serve);
  return EXIT.done;
};

/** What a start has read and prepared. */
interface Start {
  readonly options: Options;
  readonly stopping: StopRequests;
  readonly rootKey: string;
  readonly outputs: Outputs;
  readonly ready: ReadyFile | undefined;
}

type Serve = () => Promise<{ readonly url: string; stop(): Promise<void> }>;

/** Serves the namespace until it is to stop, and stops the engine in any case. */
async function runNamespace(engine: Engine, start: Start, serve: Serve): Promise<void> {
  const { options, stopping, outputs, ready } = start;
  const { say, warn } = outputs;
  // An engine at DYNAMODB_ENDPOINT may not run yet.
  const early = engine.startedHere ? undefined : stopping.first();
  if (early !== undefined) {
    const report = options.quiet ? warn : say;
    const isStopped = early.then(() => true);
    if (await Promise.race([untilReady(engine, report), isStopped])) {
      say('Stopped');
      return;
    }
  }
  say(`Engine answers: ${engine.name}`);
  try {
    const namespace = await serve();
    // A program that starts this one waits for the text printed next, and may send a signal right after it.
    const signalled = early ?? stopping.first();
    announce(engine, start, namespace.url);
    const reason = await Promise.race([signalled, failureOf(engine)]);
    say(
      `Stopping${reason === 'npm' ? ', since npm has ended' : ''}: waiting for requests to finish`,
    );
    await namespace.stop();
  } finally {
    ready?.remove();
    await engine.stop();
  }
  say('Stopped');
}

/** Tells people and programs how to reach the namespace. */
function announce(engine: Engine, { options, rootKey, outputs, ready }: Start, url: string): void {
  const { host } = new URL(url);
  const parts = { host, keyName: ROOT_KEY_NAME, key: rootKey, isLocal: true };
  const connectionString = formatConnectionString(parts);
  const readiness: Readiness = {
    url,
    connectionString,
    adminConnectionString: connectionString,
    pid: process.pid,
  };
  ready?.write(readiness);
  if (options.json) outputs.print(JSON.stringify(readiness));
  else if (options.quiet) outputs.print(url);
  else {
    const { certificate } = options;
    const facts = { url, connectionString, engine: engine.name, rootKey, certificate };
    outputs.print(welcomeText({ ...facts, now: Date.now() }));
  }
}

/** Waits until the engine answers. Resolves with false: no request to stop has come. */
async function untilReady(engine: Engine, say: (line: string) => void): Promise<false> {
  const client = createDynamoClient(engine.endpoint, engine);
  const { url } = engineAddress(engine.endpoint);
  await untilEngineAnswers({
    endpoint: url,
    probe: () => probeEngine(client, url),
    say,
    pause: (ms) => delay(ms),
    now: () => Date.now(),
  });
  client.destroy();
  return false;
}

async function failureOf(engine: Engine): Promise<never> {
  const reason = await engine.failed;
  throw new StartupError(`The engine ended unexpectedly. ${reason}`.trim());
}

/** Where the server says what. */
interface Outputs {
  readonly print: (text: string) => void;
  /** Prints a step with the seconds since the start of the process. */
  readonly say: (step: string) => void;
  readonly warn: (problem: unknown) => void;
}

function outputsOf({ stdout, stderr }: Io, { quiet }: Options): Outputs {
  const print = (text: string) => void stdout.write(`${text}\n`, () => {});
  const seconds = () => (performance.now() / 1000).toFixed(2).padStart(6);
  return {
    print,
    say: quiet ? () => {} : (step) => print(`${seconds()} s  ${step}`),
    warn: (problem) => {
      const text = typeof problem === 'string' ? problem : inspect(problem);
      stderr.write(`${text}\n`, () => {});
    },
  };
}
