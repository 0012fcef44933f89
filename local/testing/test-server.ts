import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { localAdmission } from '../local-admission.ts';
import { serveNamespace } from '../namespace.ts';
import { CONFIG } from '../namespaces/config-port.ts';
import { StartupError } from '../startup-error.ts';
import { Clients } from './clients.ts';
import { SERVER_SAYS } from './control-socket.ts';

/**
 * The process that serves the namespaces of a test run: `test-server PATH [IDLE_MS]`, where PATH is that of the control
 * socket. It ends so long after the last process of the run has ended, since files may run one after the other.
 */

const HOST = '127.0.0.1';

const [path = '', idleMs = '10000'] = process.argv.slice(2);
// The process that has started this one reads its output only until it is ready.
process.stderr.on('error', () => {});
process.exit(await main());

/** Returns the exit code. */
async function main(): Promise<number> {
  const control = createServer();
  try {
    if (!(await listen(control))) return 0;
    await serve(control);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof StartupError ? error.message : String(error)}\n`);
    return 1;
  } finally {
    control.close();
  }
}

/** Listens on the control socket. Resolves with false if another server does. Throws StartupError. */
async function listen(control: Server): Promise<boolean> {
  if (await tryListen(control)) return true;
  if (await hasListener()) return false;
  // A server that was killed has left its socket. On Windows a pipe ends with its server.
  unlinkIfThere();
  return await tryListen(control);
}

/** Resolves with false if the path is in use. Throws StartupError if it cannot be a socket's. */
function tryListen(control: Server): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EADDRINUSE') resolve(false);
      else reject(new StartupError(`Tests cannot find their server by ${path}: ${message}.`));
    };
    control.once('error', failed).listen(path, () => {
      control.off('error', failed);
      resolve(true);
    });
  });
}

/** Whether a process listens on the control socket. */
function hasListener(): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const end = (answer: boolean) => {
      probe.destroy();
      resolve(answer);
    };
    probe.once('connect', () => end(true)).once('error', () => end(false));
  });
}

function unlinkIfThere(): void {
  try {
    unlinkSync(path);
  } catch {
    // Another server has removed it first, or it cannot be removed: then to listen fails.
  }
}

/** Serves until no process of the test run is connected. Throws StartupError. */
async function serve(control: Server): Promise<void> {
  const clients = new Clients(control, Number(idleMs));
  const engine = await startEngine({ warn: say, say });
  try {
    const key = randomBytes(32).toString('base64');
    const options = { host: HOST, allowedHosts: [], allowedOrigins: [] };
    const namespaces = await serveNamespace(engine, {
      ...options,
      port: 0,
      tier: 'Standard',
      certificate: undefined,
      leaseMs: LEASE_MS.testRun,
      rootKey: key,
      admission: localAdmission(options),
      config: CONFIG,
      say: () => {},
      warn: say,
      reportError: (error) => say(String(error)),
    });
    const { host } = new URL(namespaces.url);
    clients.serve({ host, key, pid: process.pid }, (name) => namespaces.remove(name));
    await Promise.race([clients.allGone(), failureOf(engine)]);
    await namespaces.stop();
  } finally {
    await engine.stop();
  }
}

async function failureOf(engine: Engine): Promise<never> {
  throw new StartupError(`The engine ended unexpectedly. ${await engine.failed}`.trim());
}

function say(line: string): void {
  process.stderr.write(`${SERVER_SAYS}${line}\n`);
}
