import { setFlagsFromString } from 'node:v8';
import { reportFault } from '../shared/app/report-fault.ts';
import { logEvent } from './log.ts';
import { isSidecar, startSidecar } from './sidecar.ts';
import { startTask } from './task.ts';

/**
 * The process of a container: a task of the gateway or, if the environment says so, a sidecar. It serves until a signal
 * or a fault ends it.
 */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

// V8 collects the whole heap once it has doubled. Bytes from the network count as heap, so with the small heap of a
// task, and without this flag, V8 would do so twice as often, which takes a fifth of a busy process's time
// (docs/decisions/0022).
setFlagsFromString('--heap-growing-percent=100');

// After such a fault the state of the process is unknown, so it ends and another task takes over.
process.on('uncaughtException', fail);
void main().catch(fail);

async function main(): Promise<void> {
  const signalled = firstSignal();
  const start = isSidecar(process.env) ? startSidecar : startTask;
  const starting = start(process.env);
  // No client is sent here before the task listens.
  const task = await Promise.race([starting, signalled.then(() => undefined)]);
  if (task !== undefined) {
    logEvent('Started', { port: task.port });
    await signalled;
    logEvent('Draining');
    await task.stop();
  }
  logEvent('Stopped');
  process.exit(0);
}

function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
  });
}

function fail(error: unknown): never {
  reportFault(error);
  process.exit(1);
}
