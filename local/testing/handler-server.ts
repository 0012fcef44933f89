import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PushedEvent } from '../../lambdas/push/event/record.ts';

/**
 * What a consumer calls: a function that takes the event of an SQS trigger, such as a Lambda handler. Its answer may
 * name messages that failed; an error fails them all. Further parameters of a Lambda handler get a small context.
 */
export type MessageHandler = (event: PushedEvent, ...more: never[]) => unknown;

/** What a handler of Lambda may ask of its context. */
interface HandlerContext {
  readonly functionName: string;
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

interface Route {
  readonly name: string;
  readonly handler: (event: PushedEvent, context: HandlerContext) => unknown;
  readonly timeoutMs: number;
}

/** Calls handlers of this process over HTTP, on a port of its own. It keeps no process alive. */
export class HandlerServer {
  /** By the path of the address. */
  readonly #routes = new Map<string, Route>();
  #server: Promise<Server> | undefined;

  /** Adds a handler, and returns its address. `name` = what it is told to be called. */
  async add(name: string, handler: MessageHandler, timeoutMs: number): Promise<string> {
    // The consumers of several queues may have one name.
    const path = `/${randomUUID()}`;
    this.#routes.set(path, { name, handler: handler as Route['handler'], timeoutMs });
    this.#server ??= listen((request, response) => this.#answer(request, response));
    const { port } = (await this.#server).address() as AddressInfo;
    return `http://127.0.0.1:${port}${path}`;
  }

  /** Calls the handler with an address no more. */
  remove(address: string): void {
    this.#routes.delete(new URL(address).pathname);
  }

  /** Ends the server with its connections. */
  async close(): Promise<void> {
    this.#routes.clear();
    const server = await this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    server?.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = this.#routes.get(request.url ?? '');
    if (route === undefined) {
      // As if nobody listened: no delivery counts.
      response.writeHead(503).end();
      return;
    }
    const endsAt = performance.now() + route.timeoutMs;
    const context: HandlerContext = {
      functionName: route.name,
      awsRequestId: randomUUID(),
      getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()),
    };
    try {
      const event = JSON.parse(await textOf(request)) as PushedEvent;
      const answer = await route.handler(event, context);
      response.end(JSON.stringify(answer) ?? '');
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error));
    }
  }
}

async function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Server> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.unref();
  server.on('connection', (socket) => socket.unref());
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

/** The body, which only the server of the namespace sends. */
async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
