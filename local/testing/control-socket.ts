import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../startup-error.ts';

/**
 * The control socket is how processes of a test run find the one server that they share. The server sends one line
 * when it is ready, a `ServerAddress` as JSON; a client sends a line for each namespace that it begins to use, its
 * name. When the connection ends, for any reason, the server deletes these namespaces.
 */

/** The first line of the server. */
export interface ServerAddress {
  /** Host and port, for HTTP and AMQP. */
  readonly host: string;
  /** The key of RootManageSharedAccessKey in all namespaces of this server. */
  readonly key: string;
  /** The server's process. */
  readonly pid: number;
}

/** How lines begin that the server writes for people while it starts. */
export const SERVER_SAYS = 'dynabus: ';

/** What decides which server a process shares: tests of other projects, versions and engines have others. */
interface Sharing {
  /** Where the tests run. */
  readonly directory: string;
  /** The file of the server's program, which differs between installs of dynabus. */
  readonly program: string;
  /** The version of dynabus. */
  readonly version: string;
  /** The settings of the engine in the environment. */
  readonly engine: readonly (string | undefined)[];
}

const HASH_LENGTH = 20;
/** What all systems allow the path of a socket; Node cuts a longer one off. */
const PATH_BYTES_MAX = 100;

/**
 * The path of the control socket, in a directory that only this user can enter. On Windows the name of a pipe.
 * Throws StartupError if others can enter that directory, or its path is too long.
 */
export function controlSocketPath(sharing: Sharing): string {
  const name = createHash('sha256')
    .update(JSON.stringify(sharing))
    .digest('hex')
    .slice(0, HASH_LENGTH);
  if (process.platform === 'win32') return `\\\\.\\pipe\\dynabus-${name}`;
  const path = join(ownDirectory(), `${name}.sock`);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path;
  throw new StartupError(
    `The temporary directory ${tmpdir()} has too long a path for a socket, through which tests find their server: set TMPDIR to a shorter one.`,
  );
}

function ownDirectory(): string {
  const uid = process.getuid?.();
  const directory = join(tmpdir(), `dynabus-${uid}`);
  makeDirectory(directory);
  // Not through a link, which its owner could lead elsewhere.
  const status = lstatSync(directory);
  const isOwn = status.isDirectory() && status.uid === uid && (status.mode & 0o077) === 0;
  if (isOwn) return directory;
  throw new StartupError(
    `${directory}, through which tests find their server, must be a directory that only you can enter: remove it, or set TMPDIR to another directory.`,
  );
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    throw new StartupError(
      `The directory ${directory}, through which tests find their server, cannot be made: ${message}. Set TMPDIR to a directory that you can write to.`,
      { cause },
    );
  }
}
