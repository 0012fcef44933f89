import { lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { StartupError } from '../startup-error.ts';

/** How often a socket that a killed server has left is removed: other servers may start at the same time. */
const TRIES_MAX = 10;

/**
 * The control socket of a server. Node would remove whatever lies at its path when it stops listening, also the socket
 * of another server; so the server never stops listening, and removes the socket only if it is its own.
 */
export class ControlSocket {
  readonly #path: string;
  #own: bigint | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Listens. Resolves with false if another server does. Throws StartupError. */
  async listen(control: Server): Promise<boolean> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = this.#inode();
      if (await this.#tryListen(control)) {
        this.#own = this.#inode();
        return true;
      }
      if (await this.#hasListener()) return false;
      // A server that was killed has left its socket. On Windows a pipe ends with its server.
      if (before !== undefined && this.#inode() === before) unlinkSync(this.#path);
    }
    return false;
  }

  /** Removes the socket, so that nobody finds this server any more. */
  remove(): void {
    if (this.#own !== undefined && this.#inode() === this.#own) unlinkSync(this.#path);
    this.#own = undefined;
  }

  /** Resolves with false if the path is in use. Throws StartupError if it cannot be a socket's. */
  #tryListen(control: Server): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const failed = ({ code, message }: NodeJS.ErrnoException) => {
        if (code === 'EADDRINUSE') resolve(false);
        else
          reject(new StartupError(`Tests cannot find their server by ${this.#path}: ${message}.`));
      };
      control.once('error', failed).listen(this.#path, () => {
        control.off('error', failed);
        resolve(true);
      });
    });
  }

  #hasListener(): Promise<boolean> {
    return new Promise((resolve) => {
      const probe = connect(this.#path);
      const end = (answer: boolean) => {
        probe.destroy();
        resolve(answer);
      };
      probe.once('connect', () => end(true)).once('error', () => end(false));
    });
  }

  /** Tells the socket from another one at the same path; undefined if there is none. */
  #inode(): bigint | undefined {
    return lstatSync(this.#path, { bigint: true, throwIfNoEntry: false })?.ino;
  }
}
