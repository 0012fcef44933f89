import { setTimeout as delay } from 'node:timers/promises';
import { createDynamoClient } from './engine/dynamo-client.ts';
import { type Engine, startEngine } from './engine/engine.ts';
import { engineAddress } from './engine/engine-address.ts';
import { probeEngine, untilEngineAnswers } from './engine/engine-wait.ts';
import { localAdmission } from './local-admission.ts';
import { NO_CONFIG } from './namespaces/config-port.ts';
import { type Options, parseOptions, USAGE, UsageError } from './options.ts';
import { chooseRootKey } from './root-key.ts';
import { requireFreePort } from './server.ts';
import { StartupError } from './startup-error.ts';
import { StopRequests } from './stop-requests.ts';
import { welcomeText } from './welcome.ts';

/** `npm start`: serves a namespace on this machine until a signal arrives or npm ends. */

// Output fails if the terminal is closed or the program behind `|` has ended. The server continues anyway.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.exit(await main());

/** Returns the exit code. */
async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) process.stdout.write(USAGE);
    else await run(options);
    return 0;
  } catch (error) {
    return explain(error);
  }
}

async function run(options: Options): Promise<void> {
  const stopping = new StopRequests();
  const rootKey = chooseRootKey(options);
  const admission = localAdmission(options);
  const say = options.quiet ? () => {} : sayWithTime();
  await requireFreePort(options.host, options.port);
  say('Starting the engine');
  // The code of the namespace takes about as long to load as an engine to start.
  const [engine, { serveNamespace }] = await Promise.all([
    startEngine({
      kind: options.engine,
      dataDirectory: options.dataDirectory,
      warn: console.error,
    }),
    import('./namespace.ts'),
  ]);
  // An engine at DYNAMODB_ENDPOINT may not run yet.
  const early = engine.startedHere ? undefined : stopping.first();
  if (early !== undefined) {
    const report = options.quiet ? console.error : say;
    const isStopped = early.then(() => true);
    if (await Promise.race([untilReady(engine, report), isStopped])) {
      say('Stopped');
      return;
    }
  }
  say(`Engine answers: ${engine.name}`);
  try {
    const reportError = console.error;
    const namespace = await serveNamespace(engine, {
      ...options,
      rootKey,
      admission,
      config: NO_CONFIG,
      say,
      warn: console.error,
      reportError,
    });
    // A program that starts this one waits for the text printed next, and may send a signal right after it.
    const signalled = early ?? stopping.first();
    const { url } = namespace;
    console.log(
      options.quiet
        ? url
        : welcomeText({ ...options, url, engine: engine.name, rootKey, now: Date.now() }),
    );
    const reason = await Promise.race([signalled, failureOf(engine)]);
    say(
      `Stopping${reason === 'npm' ? ', since npm has ended' : ''}: waiting for requests to finish`,
    );
    await namespace.stop();
  } finally {
    await engine.stop();
  }
  say('Stopped');
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

/** Returns a function that prints a step with the seconds since the start of the process. */
function sayWithTime(): (step: string) => void {
  return (step) => console.log(`${(performance.now() / 1000).toFixed(2).padStart(6)} s  ${step}`);
}

/** Prints an error and returns its exit code. */
function explain(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  console.error(error instanceof StartupError ? error.message : error);
  return 1;
}
