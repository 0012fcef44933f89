import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** What becomes of a request on its way. */
type Fault = 'request lost' | 'answer lost' | 'answered by another';

/** A request that a fault is for. */
interface Planned {
  readonly fault: Fault;
  /** The end of its path, without its query. */
  readonly end: string;
}

/** The way from a client to a namespace over HTTP, on which requests and answers get lost. */
export class FaultyLink {
  readonly #server: Server;
  readonly #planned: Planned[] = [];
  #port = 0;
  #cut = { left: 0, over: () => {} };
  /** The requests that came, as `POST /q/messages`. */
  readonly requests: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts one in front of a namespace. */
  static async start(t: TestContext, namespacePort: number): Promise<FaultyLink> {
    const server = createServer();
    const link = new FaultyLink(server);
    server.on('request', (incoming, answer) => {
      const { method = '', url = '', headers } = incoming;
      const [path = ''] = url.split('?');
      link.requests.push(`${method} ${decodeURIComponent(path)}`);
      const fault = link.#faultFor(path);
      if (fault === 'request lost') {
        incoming.socket.destroy();
        return;
      }
      if (fault === 'answered by another') {
        incoming.resume();
        answer.writeHead(204).end();
        return;
      }
      const target = { host: '127.0.0.1', port: namespacePort, method, path: url, headers };
      const onward = httpRequest(target, (response) => {
        if (fault === 'answer lost') {
          response.resume();
          response.once('end', () => incoming.socket.destroy());
          return;
        }
        answer.writeHead(response.statusCode ?? 0, response.headers);
        response.pipe(answer);
      });
      onward.once('error', () => incoming.socket.destroy());
      incoming.pipe(onward);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Loses the next request whose path ends so, or its answer. */
  lose(fault: Fault, end: string): void {
    this.#planned.push({ fault, end });
  }

  /** Refuses connections until `up`. */
  async down(): Promise<void> {
    const port = this.port;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    this.#port = port;
  }

  async up(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Loses the next requests, as a network does that is cut. Resolves when that many came. */
  async cut(requests: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#cut = { left: requests, over: resolve };
    });
  }

  /** How many requests came whose path ends so. */
  countOf(end: string): number {
    return this.requests.filter((request) => request.endsWith(end)).length;
  }

  #faultFor(path: string): Fault | undefined {
    if (this.#cut.left > 0) {
      this.#cut.left--;
      if (this.#cut.left === 0) this.#cut.over();
      return 'request lost';
    }
    const index = this.#planned.findIndex(({ end }) => path.endsWith(end));
    return index < 0 ? undefined : this.#planned.splice(index, 1)[0]?.fault;
  }
}
