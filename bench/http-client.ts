import { isUtf8 } from 'node:buffer';
import { Agent, request } from 'node:http';
import { createSasToken } from '../shared/auth/sas-token.ts';

const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
const BATCH_TYPE = 'application/vnd.microsoft.servicebus.json';
const LONG_LOCKS = '<LockDuration>PT5M</LockDuration>';
const TOKEN_MS = 24 * 60 * 60 * 1000;

/** A call to a broker. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  readonly contentType?: string;
}

/** The answer to a call. */
export interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
  readonly location: string | undefined;
}

/** The lock of a received message: its URL, or its token. */
export type Lock = { readonly address: string } | { readonly token: string };

/** The result of a receive. */
export interface Received {
  readonly locks: readonly Lock[];
  /** The body of the first message as received, to check that it is one that was sent. */
  readonly firstBody: Buffer;
}

/**
 * A client as users write them: keep-alive, one token, JSON parsed. On `node:http`, which leaves
 * more of this machine to the server than `fetch` does.
 */
export class BenchClient {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #authorization: string;

  constructor(url: string, rootKey: string, connections: number) {
    this.#url = new URL(url);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#authorization = createSasToken({
      audience: url,
      keyName: 'RootManageSharedAccessKey',
      key: rootKey,
      expiresAt: Date.now() + TOKEN_MS,
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Creates a queue whose locks last longer than any measurement. */
  async createQueue(name: string, messageKilobytesMax: number | undefined): Promise<void> {
    const limit =
      messageKilobytesMax === undefined
        ? ''
        : `<MaxMessageSizeInKilobytes>${messageKilobytesMax}</MaxMessageSizeInKilobytes>`;
    await this.#create(name, 'QueueDescription', `${LONG_LOCKS}${limit}`);
  }

  /** The same, with one more setting, in ATOM. */
  async createQueueWith(name: string, setting: string): Promise<void> {
    await this.#create(name, 'QueueDescription', `${LONG_LOCKS}${setting}`);
  }

  /** Makes a call and returns the text of the answer. Fails if the answer has another status than expected. */
  async call(
    expected: number,
    method: string,
    path: string,
    request: Partial<Prepared> = {},
  ): Promise<string> {
    const { bytes } = await this.#call(expected, { method, path, ...request });
    return String(bytes);
  }

  /** Makes a call whose status the caller checks. */
  async ask(method: string, path: string): Promise<Answer> {
    return await this.exchange({ method, path });
  }

  /** Creates a topic that does not fill up during any measurement. */
  async createTopic(name: string): Promise<void> {
    const room = '<MaxSizeInMegabytes>5120</MaxSizeInMegabytes>';
    await this.#create(name, 'TopicDescription', room);
  }

  /** Creates a subscription with the default rule, whose locks last longer than any measurement. */
  async createSubscription(path: string): Promise<void> {
    await this.#create(path, 'SubscriptionDescription', LONG_LOCKS);
  }

  async #create(path: string, kind: string, settings: string): Promise<void> {
    await this.#call(201, {
      method: 'PUT',
      path: `/${path}`,
      contentType: 'application/atom+xml',
      body: `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><${kind} xmlns="${CONNECT}">${settings}</${kind}></content></entry>`,
    });
  }

  async deleteQueue(name: string): Promise<void> {
    await this.#call(200, { method: 'DELETE', path: `/${name}` });
  }

  /** Sends the request that `sendOf` has made. */
  async send(queue: string, prepared: Prepared): Promise<void> {
    await this.#call(201, { method: 'POST', path: `/${queue}/messages`, ...prepared });
  }

  /** Peek-locks up to `maxMessages` messages; a single one in headers and body. */
  async receive(queue: string, maxMessages: number): Promise<Received> {
    const many = maxMessages === 1 ? '' : `&maxMessages=${maxMessages}`;
    const path = `/${queue}/messages/head?timeout=0${many}`;
    const { bytes, location, status } = await this.#call([201, 204], { method: 'POST', path });
    if (status === 204) return NOTHING;
    if (maxMessages > 1) return readBatch(JSON.parse(String(bytes)) as readonly WireMessage[]);
    if (location === undefined) throw new Error('A locked message has an address.');
    return { locks: [{ address: new URL(location).pathname }], firstBody: bytes };
  }

  /** Completes by the address of a lock, or all in one call. */
  async complete(queue: string, locks: readonly Lock[]): Promise<void> {
    const [first] = locks;
    if (first !== undefined && 'address' in first) {
      await this.#call(200, { method: 'DELETE', path: first.address });
      return;
    }
    const { bytes } = await this.#call(200, {
      method: 'POST',
      path: `/${queue}/messages/$settle`,
      contentType: 'application/json',
      body: JSON.stringify({ settlements: locks.map(toSettlement) }),
    });
    if (bytes.includes('"settled":false')) throw new Error(`Not all were completed: ${bytes}`);
  }

  /** Completes earlier messages and receives further ones in one call. */
  async completeAndReceive(
    queue: string,
    locks: readonly Lock[],
    maxMessages: number,
  ): Promise<Received> {
    if (locks.length === 0) return await this.receive(queue, Math.max(2, maxMessages));
    const { bytes } = await this.#call(200, {
      method: 'POST',
      path: `/${queue}/messages/head?timeout=0&maxMessages=${maxMessages}`,
      contentType: 'application/json',
      body: JSON.stringify({ settlements: locks.map(toSettlement) }),
    });
    const { messages } = JSON.parse(String(bytes)) as { messages: readonly WireMessage[] };
    return readBatch(messages);
  }

  async #call(expected: number | readonly number[], call: Call): Promise<Answer> {
    const answer = await this.exchange(call);
    if ([expected].flat().includes(answer.status)) return answer;
    throw new Error(`${call.method} ${call.path} answered ${answer.status}: ${answer.bytes}`);
  }

  /** Makes one call. */
  protected exchange({ method, path, body = '', contentType }: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(body);
      const asked = request({
        host: this.#url.hostname,
        port: this.#url.port,
        method,
        path,
        agent: this.#agent,
        headers: {
          Authorization: this.#authorization,
          'Content-Length': bytes.length,
          ...(contentType === undefined ? {} : { 'Content-Type': contentType }),
        },
      });
      asked.on('error', reject);
      asked.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          const { location } = headers;
          resolve({ status: statusCode, bytes: Buffer.concat(chunks), location });
        });
      });
      asked.end(bytes);
    });
  }
}

/** A send that is ready to go, so that making it is not measured. */
export type Prepared = Required<Pick<Call, 'body' | 'contentType'>>;

/** One message as it is; several in the batch format. */
export function prepareSend(bodies: readonly Buffer[], asBatch: boolean): Prepared {
  const [only = Buffer.alloc(0)] = bodies;
  if (!asBatch) return { body: only, contentType: 'application/octet-stream' };
  return { body: Buffer.from(JSON.stringify(bodies.map(toMessage))), contentType: BATCH_TYPE };
}

function toMessage(body: Buffer): Omit<WireMessage, 'BrokerProperties'> {
  return isUtf8(body)
    ? { Body: body.toString('utf8') }
    : { Body: body.toString('base64'), BodyEncoding: 'base64' };
}

interface WireMessage {
  readonly Body: string;
  readonly BodyEncoding?: 'base64';
  readonly BrokerProperties: { readonly LockToken: string };
}

const NOTHING: Received = { locks: [], firstBody: Buffer.alloc(0) };

function readBatch(messages: readonly WireMessage[]): Received {
  const [first] = messages;
  if (first === undefined) return NOTHING;
  return {
    locks: messages.map(({ BrokerProperties: { LockToken } }) => ({ token: LockToken })),
    firstBody: Buffer.from(first.Body, first.BodyEncoding ?? 'utf8'),
  };
}

function toSettlement(lock: Lock) {
  if ('address' in lock) throw new Error('Locks that were got singly are settled by address.');
  return { lockToken: lock.token, outcome: 'complete' };
}
