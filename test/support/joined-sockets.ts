import type { Socket } from 'node:net';

/** Pairs of sockets, each of which gets the bytes of the other. */
export class JoinedSockets {
  readonly #sockets = new Set<Socket>();

  join(client: Socket, target: Socket): void {
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroySoon();
      });
    }
  }

  /** Destroys all sockets. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
