import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { ResourceAnswer } from '../../../lambdas/declare/cloud-formation.ts';

/** What a deployed function talks to: Systems Manager, the address for answers of CloudFormation, and DynamoDB. */

type Listener = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves HTTP until the test ends. Returns the address. */
async function serve(t: TestContext, listener: Listener): Promise<string> {
  const server = createServer((incoming, response) => {
    // A process that was killed takes no answer.
    listener(incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Parameters of Systems Manager. */
export interface FakeSsm {
  readonly url: string;
  /** Values by the names of the parameters. */
  readonly values: ReadonlyMap<string, string>;
}

/** Starts Systems Manager. Everything below `prefix` is allowed, and nothing else, as the role of the function says. */
export async function startSsm(t: TestContext, prefix: string): Promise<FakeSsm> {
  const values = new Map<string, string>();
  const refusal = (type: string) => [400, { __type: type, message: type }] as const;
  const actions: Readonly<
    Record<string, (input: Parameter) => readonly [status: number, answer: object]>
  > = {
    PutParameter: ({ Name, Value, Type, Overwrite }) => {
      assert.equal(Type, 'SecureString');
      if (values.has(Name) && Overwrite !== true) return refusal('ParameterAlreadyExists');
      values.set(Name, Value);
      return [200, { Version: 1, Tier: 'Standard' }];
    },
    DeleteParameter: ({ Name }) => (values.delete(Name) ? [200, {}] : refusal('ParameterNotFound')),
    GetParameter: ({ Name, WithDecryption }) => {
      const Value = values.get(Name);
      if (Value === undefined) return refusal('ParameterNotFound');
      return [200, { Parameter: { Name, Type: 'SecureString', Value: WithDecryption && Value } }];
    },
  };
  const url = await serve(t, async (incoming, response) => {
    const input = JSON.parse((await buffer(incoming)).toString()) as Parameter;
    const action = actions[String(incoming.headers['x-amz-target']).replace(/^AmazonSSM\./, '')];
    const isAllowed = action !== undefined && input.Name.startsWith(`${prefix}/`);
    const [status, answer] = isAllowed ? action(input) : refusal('AccessDeniedException');
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(answer));
  });
  return { url, values };
}

interface Parameter {
  readonly Name: string;
  readonly Value: string;
  readonly Type?: string;
  readonly Overwrite?: boolean;
  readonly WithDecryption?: boolean;
}

/** CloudFormation takes so many bytes. */
const ANSWER_BYTES_MAX = 4096;

/** The addresses to which a function sends its answers. */
export interface AnswerAddress {
  /** A new address. */
  next(): string;
  /** The first answer that was taken at an address. */
  answerAt(url: string): ResourceAnswer | undefined;
  /** Answers the next requests with 503. */
  refuse(requests: number): void;
}

/** Starts what takes answers. It checks what the signature of CloudFormation's own addresses covers. */
export async function startAnswerAddress(t: TestContext): Promise<AnswerAddress> {
  const answers = new Map<string, ResourceAnswer>();
  let count = 0;
  let refused = 0;
  const url = await serve(t, async (incoming, response) => {
    const body = await buffer(incoming);
    const { method, headers, url: path = '' } = incoming;
    const isSigned = method === 'PUT' && !headers['content-type'] && headers['content-length'];
    if (refused > 0) response.statusCode = 503;
    else if (!isSigned) response.statusCode = 403;
    else if (body.length > ANSWER_BYTES_MAX) response.statusCode = 400;
    else if (!answers.has(path)) answers.set(path, JSON.parse(body.toString()));
    refused = Math.max(0, refused - 1);
    response.end();
  });
  return {
    next: () => `${url}/${++count}?signature=1`,
    answerAt: (address) => answers.get(address.slice(url.length)),
    refuse: (requests) => {
      refused = requests;
    },
  };
}

/** Whether a request that kills its process takes effect. */
export type When = 'before it' | 'after it';

/** A way to the engine that can end. */
export interface EngineProxy {
  readonly url: string;
  /** Calls `kill` at the request with a number, the first one being 1; the request gets no answer. */
  killAt(request: number, when: When, kill: () => void): void;
  /** Kills nothing any more. */
  disarm(): void;
}

/** Starts a proxy of the engine at an address. */
export async function startEngineProxy(t: TestContext, engine: string): Promise<EngineProxy> {
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  let left = 0;
  let death: { readonly when: When; readonly kill: () => void } | undefined;
  const url = await serve(t, async (incoming, response) => {
    const body = await buffer(incoming);
    const dying = death !== undefined && --left === 0 ? death : undefined;
    if (dying?.when === 'before it') return dying.kill();
    const { method, headers } = incoming;
    const forwarded = request(engine, { method, headers, agent, path: incoming.url });
    const [answer] = (await once(forwarded.end(body), 'response')) as [IncomingMessage];
    const answered = await buffer(answer);
    if (dying !== undefined) return dying.kill();
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    response.end(answered);
  });
  return {
    url,
    killAt: (number, when, kill) => {
      left = number;
      death = { when, kill };
    },
    disarm: () => {
      death = undefined;
    },
  };
}
