// @ts-check
/**
 * Keeps an engine from outliving us. A process cannot clean up after its own `kill -9`, so the engine
 * is run by this small one, whose stdin is a pipe held by the server: when the server is gone, however
 * it went, the pipe closes and the engine is ended. Plain JavaScript, so that it starts at once.
 *
 *   node engine-supervisor.mjs FILES COMMAND ARGUMENT…
 *
 * FILES is JSON: the GuardedFiles of supervised-process.ts.
 *
 * It writes the engine's process id to stdout, lets the engine speak on stderr, and exits with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How long an engine may take to end in order before it is killed. */
const STOP_MS_MAX = 3000;
/** The engine of a server that was just killed may still be on its way out. */
const LOCK_WAIT_MS_MAX = STOP_MS_MAX + 1000;
const LOCK_NAME = 'in-use.sock';
/** What SQLite leaves beside a file after a crash, and needs to read it; before the file itself. */
const FILE_PARTS = ['-journal', '-wal', '-shm', ''];

const [files = '{}', command = '', ...engineArguments] = process.argv.slice(2);
/** @type {import('./supervised-process.ts').GuardedFiles} */
const { data, temporary } = JSON.parse(files);

// What an engine writes is for its owner alone.
process.umask(0o077);
if (temporary !== undefined) {
  process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));
}
if (data !== undefined) {
  await lock(data.directory);
  requireNoRival(data);
  adoptEarlierData(data);
}

const engine = spawn(command, engineArguments, {
  stdio: ['ignore', 2, 2],
  // Node takes paths as UTF-8 whatever the locale; Java does only in a locale of UTF-8.
  env: { ...process.env, LC_ALL: 'C.UTF-8' },
});
engine.once('error', (error) => fail(`${command} could not be started: ${error.message}`));
engine.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
process.stdout.on('error', stop).write(`${engine.pid ?? ''}\n`);
process.stdin.on('end', stop).on('error', stop).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

function stop() {
  engine.kill('SIGTERM');
  setTimeout(() => engine.kill('SIGKILL'), STOP_MS_MAX);
}

/**
 * Neither engine minds a second one on the same files, and each would then overwrite the other. A
 * socket in the directory is the lock: unlike a file with a process id in it, it cannot be taken for
 * held once its holder is dead. Its name is relative, because the path of a socket must be short.
 * @param {string} directory
 */
async function lock(directory) {
  process.chdir(directory);
  const deadline = Date.now() + LOCK_WAIT_MS_MAX;
  while ((await tryLock()) === 'EADDRINUSE') {
    if (Date.now() >= deadline) {
      fail(`The data directory ${directory} is in use by another dynabus.`);
    }
    const holder = connect(LOCK_NAME).on('error', () => {});
    const closed = new Promise((resolve) => holder.once('close', () => resolve('closed')));
    const connected = new Promise((resolve) => holder.once('connect', () => resolve('connected')));
    const answer = await Promise.race([connected, closed]);
    if (answer === 'closed') unlinkIfThere(LOCK_NAME);
    else await Promise.race([closed, delay(deadline - Date.now())]);
    holder.destroy();
  }
  process.on('exit', () => unlinkIfThere(LOCK_NAME));
}

/** Where the file system knows no sockets there is no lock, which is no reason not to start. */
async function tryLock() {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  server.unref().listen(LOCK_NAME);
  return once(server, 'listening').then(
    () => 'held',
    (error) => error.code,
  );
}

/**
 * Another process may have begun a data file while the lock was waited for: a second one would hide it.
 * @param {import('./supervised-process.ts').GuardedData} data
 */
function requireNoRival({ directory, file, rivals }) {
  if (rivals === undefined) return;
  const pattern = new RegExp(rivals);
  const rival = readdirSync('.').find((name) => pattern.test(name) && name !== file);
  if (rival !== undefined) {
    fail(
      `Another dynabus has just written ${rival} in the data directory ${directory}: start again.`,
    );
  }
}

/**
 * Gives data of an earlier version the name by which the engine now finds it.
 * @param {import('./supervised-process.ts').GuardedData} data
 */
function adoptEarlierData({ directory, file, earlierFile }) {
  if (earlierFile === undefined || !existsSync(earlierFile)) return;
  if (existsSync(file)) {
    fail(
      `The data directory ${directory} holds both ${earlierFile}, of an earlier version, and ${file}: move one away.`,
    );
  }
  for (const part of FILE_PARTS) {
    if (existsSync(earlierFile + part)) renameSync(earlierFile + part, file + part);
  }
}

/** @param {string} path */
function unlinkIfThere(path) {
  try {
    unlinkSync(path);
  } catch (error) {
    // Another starter was quicker; the next try tells who holds the lock.
    if (error.code === 'ENOENT') return;
    fail(`${path} in ${data?.directory} stands in the way of the lock: remove it.`);
  }
}

/**
 * @param {string} reason
 * @returns {never}
 */
function fail(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}
