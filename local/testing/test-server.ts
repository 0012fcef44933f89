import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { localAdmission } from '../local-admission.ts';
import { serveNamespace } from '../namespace.ts';
import { CONFIG } from '../namespaces/config-port.ts';
import { StartupError } from '../startup-error.ts';
import { Clients } from './clients.ts';
import { SERVER_SAYS } from './control-socket.ts';
import { ControlSocket } from './listen.ts';

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
    const socket = new ControlSocket(path);
    if (!(await socket.listen(control))) return 0;
    await serve(control, socket);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof StartupError ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Serves until no process of the test run is connected. Throws StartupError. */
async function serve(control: Server, socket: ControlSocket): Promise<void> {
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
    // First nobody finds this server any more.
    socket.remove();
    await namespaces.stop();
  } finally {
    socket.remove();
    await engine.stop();
  }
}

async function failureOf(engine: Engine): Promise<never> {
  throw new StartupError(`The engine ended unexpectedly. ${await engine.failed}`.trim());
}

function say(line: string): void {
  process.stderr.write(`${SERVER_SAYS}${line}\n`);
}
