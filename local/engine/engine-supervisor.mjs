// @ts-check
/**
 * Runs an engine and ends it when the server ends. A server cannot clean up after its own `kill -9`, so this
 * small process runs the engine. Its standard input is a pipe that the server holds: when the server ends, for
 * any reason, the pipe closes and the supervisor ends the engine. It is plain JavaScript, which needs no
 * compilation at the start.
 *
 *   node engine-supervisor.mjs FILES COMMAND ARGUMENT…
 *
 * FILES is JSON: the SupervisedFiles of supervised-process.ts.
 *
 * It writes the engine's process id to stdout, passes the engine's output to stderr, and exits with the
 * engine's exit code.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** How long an engine may take to end after SIGTERM before the supervisor kills it. */
const STOP_MS_MAX = 3000;
/** How long to wait for the lock: the engine of a server that was just killed may still be ending. */
const LOCK_WAIT_MS_MAX = STOP_MS_MAX + 1000;
const LOCK_NAME = 'in-use.sock';
/**
 * The endings of the files that SQLite leaves beside a data file after a crash and needs to read it, before the
 * data file's own: a rename that is interrupted leaves the data file under its old name.
 */
const FILE_PARTS = ['-journal', '-wal', '-shm', ''];

const [files = '{}', command = '', ...engineArguments] = process.argv.slice(2);
/** @type {import('./supervised-process.ts').SupervisedFiles} */
const { data, temporary } = JSON.parse(files);

// Only the owner may read the files of an engine.
process.umask(0o077);
if (temporary !== undefined) createTemporary(temporary);
if (data !== undefined) {
  await lock(data.directory);
  requireNoRival(data);
  renameLegacyData(data);
}

const engine = spawn(command, engineArguments, {
  stdio: ['ignore', 2, 2],
  // Node reads paths as UTF-8 in any locale; Java does so only in a UTF-8 locale.
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
 * Creates the temporary directory of the engine. Fails if the path is in use: what is there belongs to another
 * process.
 * @param {import('./supervised-process.ts').TemporaryFiles} files
 */
function createTemporary({ directory, contents }) {
  try {
    mkdirSync(directory, { mode: 0o700 });
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    for (const [name, content] of Object.entries(contents)) {
      writeFileSync(join(directory, name), content, 'base64');
    }
  } catch (error) {
    fail(`The temporary directory ${directory} cannot be written: ${error.message}`);
  }
}

/**
 * Locks a data directory. Neither engine rejects a second engine on the same files, and each would overwrite
 * the other's data. The lock is a socket in the directory: unlike a file with a process id, it cannot look held
 * after its holder has ended. Its name is relative, because the path of a socket must be short.
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

/**
 * Tries to take the lock once. A file system without sockets gives another error than EADDRINUSE: the engine
 * then starts without a lock.
 */
async function tryLock() {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  server.unref().listen(LOCK_NAME);
  return once(server, 'listening').then(
    () => 'held',
    (error) => error.code,
  );
}

/**
 * Fails if another process has created a data file while this one waited for the lock: a second data file
 * would hide it.
 * @param {import('./supervised-process.ts').SupervisedData} data
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
 * Renames a data file of an earlier version to the name that the engine now reads.
 * @param {import('./supervised-process.ts').SupervisedData} data
 */
function renameLegacyData({ directory, file, legacyFile }) {
  if (legacyFile === undefined || !existsSync(legacyFile)) return;
  if (existsSync(file)) {
    fail(
      `The data directory ${directory} holds both ${legacyFile}, of an earlier version, and ${file}: move one away.`,
    );
  }
  for (const part of FILE_PARTS) {
    if (existsSync(legacyFile + part)) renameSync(legacyFile + part, file + part);
  }
}

/** @param {string} path */
function unlinkIfThere(path) {
  try {
    unlinkSync(path);
  } catch (error) {
    // Another process removed it first; the next attempt shows whether that process holds the lock.
    if (error.code === 'ENOENT') return;
    fail(`${path} in ${data?.directory} blocks the lock of the data directory: remove it.`);
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
