import type { Server, Socket } from 'node:net';
import type { ServerAddress } from './control-socket.ts';

const NAME_LENGTH_MAX = 64;
/** Lines of names that are received but not complete. */
const LINE_LENGTH_MAX = 1024;

/** Deletes a namespace. */
type RemoveNamespace = (name: string) => Promise<void>;

/** The processes that are connected to the control socket of a server, and the namespaces that each of them uses. */
export class Clients {
  readonly #sockets = new Set<Socket>();
  readonly #idleMs: number;
  #serving: { readonly address: ServerAddress; readonly remove: RemoveNamespace } | undefined;
  #idle: NodeJS.Timeout;
  /** Whether nobody is served any more. */
  #isEnding = false;
  readonly #gone: Promise<void>;
  #end: () => void = () => {};

  /** `idleMs` = how long the server waits for a client, ms. */
  constructor(control: Server, idleMs: number) {
    this.#idleMs = idleMs;
    this.#gone = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#idle = this.#awaitClients();
    control.on('connection', (socket) => this.#add(socket));
  }

  /** Tells all clients, also later ones, that the server is ready. `remove` is called for what a client leaves. */
  serve(address: ServerAddress, remove: RemoveNamespace): void {
    this.#serving = { address, remove };
    for (const socket of this.#sockets) tell(socket, address);
  }

  /** Resolves when no client has been connected for `idleMs`; from then on, connections are closed unanswered. */
  allGone(): Promise<void> {
    return this.#gone;
  }

  #awaitClients(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#isEnding = true;
      this.#end();
    }, this.#idleMs);
  }

  #add(socket: Socket): void {
    if (this.#isEnding) {
      // The client then starts another server.
      socket.destroy();
      return;
    }
    clearTimeout(this.#idle);
    this.#sockets.add(socket);
    const names = new Set<string>();
    let line = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (line + text).split('\n');
      line = (lines.pop() ?? '').slice(0, LINE_LENGTH_MAX);
      for (const name of lines) if (name.length <= NAME_LENGTH_MAX) names.add(name);
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#idle = this.#awaitClients();
      // A namespace that cannot be deleted ends with the engine.
      for (const name of names) void this.#serving?.remove(name).catch(() => {});
    });
    if (this.#serving !== undefined) tell(socket, this.#serving.address);
  }
}

function tell(socket: Socket, address: ServerAddress): void {
  socket.write(`${JSON.stringify(address)}\n`);
}
