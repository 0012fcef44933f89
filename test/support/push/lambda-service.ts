import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** What a function is told beside its event. */
export interface FunctionContext {
  readonly functionName: string;
  readonly invokedFunctionArn: string;
  readonly awsRequestId: string;
  readonly getRemainingTimeInMillis: () => number;
}

/** A function. What it throws is its error. */
export type FunctionHandler = (event: unknown, context: FunctionContext) => Promise<unknown>;

/** Why the service does not take an invocation. */
export type InvokeRefusal = 'throttled' | 'missing' | 'forbidden';

/** An invocation that the service has taken. */
export interface Invocation {
  readonly functionName: string;
  readonly type: 'Event' | 'RequestResponse';
  readonly event: unknown;
  /** From 1; above it Lambda tries again after an error. */
  readonly attempt: number;
  /** Monotonic ms. */
  readonly startedAt: number;
  endedAt?: number;
  error?: Error;
}

const REFUSALS: Readonly<Record<InvokeRefusal, readonly [status: number, name: string]>> = {
  throttled: [429, 'TooManyRequestsException'],
  missing: [404, 'ResourceNotFoundException'],
  forbidden: [403, 'AccessDeniedException'],
};
const PATH = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;
/** How often Lambda runs an asynchronous invocation that ends with an error. */
const ATTEMPTS_MAX = 3;
/** The longest time that a test waits for invocations, ms. */
const PATIENCE_MS = 30_000;
const DEFAULT_TIMEOUT_MS = 900_000;

/** Stands in for Lambda: a server with its Invoke API, behind which functions of this process run. */
export class LambdaService {
  readonly invocations: Invocation[] = [];
  readonly #functions = new Map<string, FunctionHandler>();
  readonly #refusals = new Map<string, InvokeRefusal>();
  readonly #retries: {
    readonly name: string;
    readonly event: unknown;
    readonly attempt: number;
  }[] = [];
  readonly #changes = new EventEmitter();
  readonly #now: () => number;
  #url = '';
  /** Requests for invocations, also those that were refused. */
  requests = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts one, which stops after the test; `now` = monotonic time, ms. */
  static async start(t: TestContext, now: () => number = () => performance.now()) {
    const service = new LambdaService(now);
    const server = createServer((request, response) => {
      service.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    service.#changes.setMaxListeners(0);
    service.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return service;
  }

  get url(): string {
    return this.#url;
  }

  /** Creates a function, or replaces its code. */
  register(name: string, handler: FunctionHandler): void {
    this.#functions.set(name, handler);
  }

  /** Refuses invocations of a function until it is told otherwise. */
  refuse(name: string, refusal: InvokeRefusal | undefined): void {
    if (refusal === undefined) this.#refusals.delete(name);
    else this.#refusals.set(name, refusal);
  }

  /** The invocations of a function. */
  of(name: string): readonly Invocation[] {
    return this.invocations.filter(({ functionName }) => functionName === name);
  }

  /** Runs the asynchronous invocations again that ended with an error, as Lambda does after some minutes. */
  retryFailed(): void {
    for (const { name, event, attempt } of this.#retries.splice(0)) {
      this.#runLater(name, event, attempt);
    }
  }

  /** Whether no invocation runs, or is about to. */
  get isIdle(): boolean {
    return this.invocations.every(({ endedAt }) => endedAt !== undefined);
  }

  /** Resolves once a condition holds, which is looked at whenever an invocation starts or ends. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    while (!condition()) {
      await once(this.#changes, 'change', { signal }).catch(() => {
        throw new Error(`In vain for ${PATIENCE_MS} ms: ${what}`);
      });
    }
  }

  /** Invokes a function and returns its result. Throws what it throws. */
  async invoke(name: string, event: unknown): Promise<unknown> {
    return await this.#run(this.#begin(name, event, 'RequestResponse', 1));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const event: unknown = JSON.parse((await buffer(request)).toString() || 'null');
    this.requests++;
    const [, encoded = ''] = PATH.exec(request.url ?? '') ?? [];
    const name = nameOf(decodeURIComponent(encoded));
    const refusal = this.#refusals.get(name) ?? (this.#functions.has(name) ? undefined : 'missing');
    if (refusal !== undefined) {
      const [status, error] = REFUSALS[refusal];
      const body = JSON.stringify({ Type: 'User', Message: `${name}: ${error}` });
      response.writeHead(status, { ...JSON_TYPE, 'x-amzn-errortype': error }).end(body);
      return;
    }
    if (request.headers['x-amz-invocation-type'] === 'Event') {
      this.#runLater(name, event, 1);
      response.writeHead(202).end();
      return;
    }
    try {
      const result = await this.#run(this.#begin(name, event, 'RequestResponse', 1));
      response.writeHead(200, JSON_TYPE).end(JSON.stringify(result ?? null));
    } catch (error) {
      const { name: errorType, message: errorMessage } = error as Error;
      response
        .writeHead(200, { ...JSON_TYPE, 'x-amz-function-error': 'Unhandled' })
        .end(JSON.stringify({ errorType, errorMessage, trace: [] }));
    }
  }

  #runLater(name: string, event: unknown, attempt: number): void {
    const invocation = this.#begin(name, event, 'Event', attempt);
    this.#run(invocation).catch(() => {
      if (attempt < ATTEMPTS_MAX) this.#retries.push({ name, event, attempt: attempt + 1 });
    });
  }

  #begin(
    functionName: string,
    event: unknown,
    type: Invocation['type'],
    attempt: number,
  ): Invocation {
    const startedAt = this.#now();
    const invocation: Invocation = { functionName, type, event, attempt, startedAt };
    this.invocations.push(invocation);
    this.#changes.emit('change');
    return invocation;
  }

  async #run(invocation: Invocation): Promise<unknown> {
    const { functionName, event, startedAt } = invocation;
    const endsAt = startedAt + DEFAULT_TIMEOUT_MS;
    try {
      const handler = this.#functions.get(functionName);
      if (handler === undefined) throw new Error(`There is no function '${functionName}'.`);
      return await handler(event, {
        functionName,
        invokedFunctionArn: `arn:aws:lambda:eu-west-1:123456789012:function:${functionName}`,
        awsRequestId: String(this.invocations.length),
        getRemainingTimeInMillis: () => endsAt - this.#now(),
      });
    } catch (error) {
      invocation.error = error instanceof Error ? error : new Error(String(error));
      throw invocation.error;
    } finally {
      invocation.endedAt = this.#now();
      this.#changes.emit('change');
    }
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** The name of a function in its name or ARN. */
function nameOf(function_: string): string {
  return function_.startsWith('arn:') ? (function_.split(':')[6] ?? '') : function_;
}
