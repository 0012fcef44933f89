import assert from 'node:assert/strict';
import { ApiClient } from '../support/api-client.ts';
import { BATCH_TYPE, expectStatus } from '../support/test-broker.ts';
import type { CorpusDocument } from './corpus.ts';

const ROOT_KEY = 'SAS_KEY_VALUE';
const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';

/** A received document: the id of its message, and its bytes. */
export interface ReceivedDocument {
  readonly id: string;
  readonly bytes: Buffer;
  readonly lockToken: string;
}

interface WireMessage {
  readonly Body: string;
  readonly BodyEncoding?: string;
  readonly BrokerProperties: { readonly MessageId: string; readonly LockToken: string };
}

/** The requests of the durability test, over plain HTTP to a server at a URL. */
export class DurabilityClient {
  readonly #api: ApiClient;

  constructor(url: string) {
    this.#api = new ApiClient(url, ROOT_KEY);
  }

  /** Creates a queue with a message size limit, or with the default limit. */
  async createQueue(name: string, messageKilobytesMax: number | undefined): Promise<void> {
    const limit =
      messageKilobytesMax === undefined
        ? ''
        : `<MaxMessageSizeInKilobytes>${messageKilobytesMax}</MaxMessageSizeInKilobytes>`;
    const answer = await this.#api.request('PUT', name, {
      headers: { 'Content-Type': 'application/atom+xml' },
      body: `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="${CONNECT}"><LockDuration>PT5M</LockDuration><MaxDeliveryCount>1000</MaxDeliveryCount>${limit}</QueueDescription></content></entry>`,
    });
    expectStatus(answer, 201);
  }

  /** Sends one document as a single message. Resolves with the status and the text of the response. */
  async sendOne(queue: string, document: CorpusDocument) {
    const { status, text } = await this.#api.request('POST', `${queue}/messages`, {
      headers: {
        'Content-Type': 'application/json',
        BrokerProperties: JSON.stringify({ MessageId: document.id }),
      },
      body: document.text,
    });
    return { status, text };
  }

  async sendBatch(queue: string, documents: readonly CorpusDocument[]): Promise<void> {
    const messages = documents.map(({ id, text }) => ({
      Body: text,
      BrokerProperties: { MessageId: id },
    }));
    const answer = await this.#api.request('POST', `${queue}/messages`, {
      headers: { 'Content-Type': BATCH_TYPE },
      body: JSON.stringify(messages),
    });
    expectStatus(answer, 201);
  }

  /** Peek-locks one message in the form of headers and body; nothing where there is none. */
  async receiveOne(queue: string): Promise<readonly ReceivedDocument[]> {
    const answer = await this.#api.request('POST', `${queue}/messages/head?timeout=0`);
    if (answer.status === 204) return [];
    expectStatus(answer, 201);
    const header = answer.headers.get('brokerproperties') ?? '';
    const { MessageId, LockToken } = JSON.parse(header) as WireMessage['BrokerProperties'];
    return [{ id: MessageId, bytes: Buffer.from(answer.bytes), lockToken: LockToken }];
  }

  async receiveMany(queue: string, maxMessages: number): Promise<readonly ReceivedDocument[]> {
    const path = `${queue}/messages/head?timeout=0&maxMessages=${maxMessages}`;
    const answer = await this.#api.request('POST', path);
    if (answer.status === 204) return [];
    expectStatus(answer, 201);
    return answer.json<readonly WireMessage[]>().map(({ Body, BodyEncoding, BrokerProperties }) => {
      assert.equal(BodyEncoding, undefined, 'the body is sent as text, not encoded');
      const { MessageId, LockToken } = BrokerProperties;
      return { id: MessageId, bytes: Buffer.from(Body), lockToken: LockToken };
    });
  }

  /** Settles messages. Resolves with the lock tokens whose messages were settled. */
  async settle(
    queue: string,
    lockTokens: readonly string[],
    outcome: 'complete' | 'abandon',
  ): Promise<readonly string[]> {
    const answer = await this.#api.request('POST', `${queue}/messages/$settle`, {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        settlements: lockTokens.map((lockToken) => ({ lockToken, outcome })),
      }),
    });
    expectStatus(answer, 200);
    const { settlements } = answer.json<{
      settlements: readonly { readonly lockToken: string; readonly settled: boolean }[];
    }>();
    return settlements.filter(({ settled }) => settled).map(({ lockToken }) => lockToken);
  }

  /** Moves the server's clock ahead. */
  async advance(seconds: number): Promise<void> {
    const answer = await this.#api.request('POST', '$clock', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ advanceSeconds: seconds }),
    });
    expectStatus(answer, 200);
  }
}
