import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Clients } from '../../../local/testing/clients.ts';
import { controlSocketPath } from '../../../local/testing/control-socket.ts';
import { parseConnectionString } from '../../../shared/auth/connection-string.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { isRunning, temporaryDirectory, untilEnded } from '../cli.ts';

/** How processes share one server for tests, and when it ends. */

const TSX = import.meta.resolve('tsx');
const SERVER = testing('test-server.ts');
const POLL_MS = 25;
const TRIES_MAX = 2400;

/** A process that starts a namespace, prints what it got, and waits for its input to end. */
const CLIENT = `
import { startNamespace } from ${JSON.stringify(testing('testing.ts'))};
const { connectionString, url } = await startNamespace({ queues: ['orders'] });
console.log(JSON.stringify({ connectionString, url }));
process.stdin.resume().once('end', () => process.exit(0));
`;

interface Client {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly url: string;
  readonly connectionString: string;
}

test('processes of one folder share a server, which deletes the namespaces of those that end', async (t) => {
  const folder = temporaryDirectory(t);
  const [one, other] = await Promise.all([startClient(t, folder), startClient(t, folder)]);
  assert.equal(one.url, other.url);
  assert.equal(await statusOf(one), 200);

  one.process.kill('SIGKILL');
  while ((await statusOf(one)) === 200) await delay(POLL_MS);

  assert.equal(await statusOf(other), 200);
  await killServer(folder);
});

test('a server that was killed is replaced, although its socket is left', async (t) => {
  const folder = temporaryDirectory(t);
  const { url } = await startClient(t, folder);
  const killed = await killServer(folder);
  assert.ok(!isRunning(killed));
  assert.equal(readdirSync(join(folder, ownFolder())).length, 1);

  const next = await startClient(t, folder);
  assert.notEqual(next.url, url);
  await killServer(folder);
});

test('a server ends when nobody is connected for its idle time, and takes its socket along', async (t) => {
  const folder = temporaryDirectory(t);
  const path = join(folder, 'a.sock');
  const server = spawn(process.execPath, ['--import', TSX, SERVER, path, '1000'], {
    stdio: 'ignore',
  });
  const ended = once(server, 'exit');
  const first = await connected(path);
  const second = await connected(path);
  first.socket.destroy();
  assert.ok(isRunning(server.pid));
  second.socket.destroy();
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(readdirSync(folder), []);
});

test('of servers that start at once beside the socket of a killed one, one stays', async (t) => {
  const path = join(temporaryDirectory(t), 'a.sock');
  const start = () => {
    const child = spawn(process.execPath, ['--import', TSX, SERVER, path, '3000'], {
      stdio: 'ignore',
    });
    t.after(() => child.kill('SIGKILL'));
    return { child, ended: once(child, 'exit') };
  };
  const killed = start();
  (await connected(path)).socket.destroy();
  killed.child.kill('SIGKILL');
  await killed.ended;

  const servers = [start(), start(), start(), start()];
  const { socket, pid } = await connected(path);
  const others = servers.filter(({ child }) => child.pid !== pid);
  assert.equal(others.length, 3);
  assert.deepEqual(
    (await Promise.all(others.map(({ ended }) => ended))).map(([code]) => code),
    [0, 0, 0],
  );
  assert.equal((await connected(path)).pid, pid);
  socket.destroy();
});

test('a client that comes when its server ends gets no address', async (t) => {
  const path = join(temporaryDirectory(t), 'a.sock');
  const control = createServer().listen(path);
  t.after(() => control.close());
  await once(control, 'listening');
  const clients = new Clients(control, 0);
  clients.serve({ host: 'localhost:1', key: 'k', pid: 1 }, async () => {});
  await clients.allGone();
  const late = connect(path);
  const answered = once(late, 'data').then(() => 'answered');
  const closed = once(late.resume(), 'close').then(() => 'closed');
  assert.equal(await Promise.race([answered, closed]), 'closed');
});

test('a second server on one socket leaves the first alone', async (t) => {
  const folder = temporaryDirectory(t);
  const first = await startClient(t, folder);
  const [name = ''] = readdirSync(join(folder, ownFolder()));
  const { status } = runServer(join(folder, ownFolder(), name));
  assert.equal(status, 0);
  assert.equal(await statusOf(first), 200);
  await killServer(folder);
});

test('a socket that cannot be made is explained', (t) => {
  const { status, stderr } = runServer(join(temporaryDirectory(t), 'missing', 'a.sock'));
  assert.equal(status, 1);
  assert.match(stderr, /^Tests cannot find their server by .+: .+\.$/m);
  assert.doesNotMatch(stderr, /^ {4}at /m);
});

test('a temporary directory whose path is too long for a socket is refused', (t) => {
  const folder = join(temporaryDirectory(t), 'a'.repeat(100));
  mkdirSync(folder);
  const [command, args, options] = clientCommand(folder);
  const { status, stderr } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /too long a path for a socket.+: set TMPDIR to a shorter one/);
});

test('a temporary directory that does not exist is not made', (t) => {
  const missing = join(temporaryDirectory(t), 'missing');
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = missing;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  });
  const sharing = { directory: '/', program: 'a', version: '1', engine: [] };
  assert.throws(
    () => controlSocketPath(sharing),
    /cannot be made: .+ Set TMPDIR to a directory that you can write to\./,
  );
  assert.ok(!existsSync(missing));
});

test('a link in place of the folder for sockets is refused', (t) => {
  const folder = temporaryDirectory(t);
  symlinkSync(temporaryDirectory(t), join(folder, ownFolder()));
  const [command, args, options] = clientCommand(folder);
  const { status, stderr } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /must be a directory that only you can enter: remove it/);
});

test('a folder for sockets that others can enter is refused', async (t) => {
  const folder = temporaryDirectory(t);
  mkdirSync(join(folder, ownFolder()));
  chmodSync(join(folder, ownFolder()), 0o755);
  const [command, args, options] = clientCommand(folder);
  const { status, stderr } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /must be a directory that only you can enter: remove it, or set TMPDIR/);
});

function testing(file: string): string {
  return fileURLToPath(new URL(`../../../local/testing/${file}`, import.meta.url));
}

function ownFolder(): string {
  return `dynabus-${process.getuid?.()}`;
}

function runServer(path: string) {
  const args = ['--import', TSX, SERVER, path];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

/** The command, arguments and options of a client, whose folder decides which server it shares. */
function clientCommand(folder: string) {
  const file = join(folder, 'client.mts');
  writeFileSync(file, CLIENT);
  const env = { ...process.env, TMPDIR: folder, NODE_TEST_CONTEXT: undefined };
  return [process.execPath, ['--import', TSX, file], { cwd: folder, env }] as const;
}

async function startClient(t: TestContext, folder: string): Promise<Client> {
  const [command, args, options] = clientCommand(folder);
  const child = spawn(command, [...args], { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code]) => assert.fail(`The client ended: ${code}.`));
  ended.catch(() => {});
  const printed = once(child.stdout.setEncoding('utf8'), 'data');
  const [line] = (await Promise.race([printed, ended])) as [string];
  return { process: child, ...(JSON.parse(line) as Pick<Client, 'url' | 'connectionString'>) };
}

/** The status of a peek at the queue of a client. */
async function statusOf({ url, connectionString }: Client): Promise<number> {
  const { keyName, key } = parseConnectionString(connectionString);
  const expiresAt = Date.now() + 60_000;
  const Authorization = createSasToken({ audience: url, keyName, key, expiresAt });
  const answer = await fetch(`${url}/orders/messages`, { headers: { Authorization } });
  await answer.arrayBuffer();
  return answer.status;
}

/** Kills the server of the clients in a folder. Returns its process id. */
async function killServer(folder: string): Promise<number> {
  const [name = ''] = readdirSync(join(folder, ownFolder()));
  const { socket, pid } = await connected(join(folder, ownFolder(), name));
  socket.destroy();
  process.kill(pid, 'SIGKILL');
  await untilEnded([pid]);
  return pid;
}

/** Connects to a control socket, and waits until the server is ready. */
async function connected(path: string): Promise<{ readonly socket: Socket; readonly pid: number }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const socket = connect(path).setEncoding('utf8');
    try {
      const [line] = (await once(socket, 'data')) as [string];
      return { socket, pid: (JSON.parse(line) as { readonly pid: number }).pid };
    } catch {
      await delay(POLL_MS);
    }
  }
  throw new Error(`Nobody listens at ${path}.`);
}
