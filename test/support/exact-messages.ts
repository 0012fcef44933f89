import assert from 'node:assert/strict';
import { readReceived } from '../../amqp/messages/read-received.ts';
import { readSections, SECTION, writeSections } from '../../amqp/messages/sections.ts';
import { writeMessage, writeOutgoing } from '../../amqp/messages/write-message.ts';
import { binary, described, fieldsOf, textOf } from '../../amqp/wire/value.ts';
import { printProperties } from '../../lambdas/http/format/print-properties.ts';
import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import type { Answer, RequestOptions } from './api-client.ts';
import type { TestBroker } from './test-broker.ts';

/** The content type of messages as AMQP encodes them. */
export const EXACT_TYPE = 'application/vnd.dynabus.amqp';

/** The body of a request with encoded messages. */
export function exactBody(...messages: readonly (Uint8Array | OutgoingMessage)[]): Buffer {
  return writeSections({
    body: messages.map((message) =>
      described(
        SECTION.data,
        binary(message instanceof Uint8Array ? message : writeOutgoing(message)),
      ),
    ),
  });
}

/** Sends encoded messages. */
export function sendExact(
  broker: TestBroker,
  path: string,
  messages: readonly (Uint8Array | OutgoingMessage)[],
  headers: RequestOptions['headers'] = {},
): Promise<Answer> {
  return broker.request('POST', path, {
    body: exactBody(...messages),
    headers: { 'Content-Type': EXACT_TYPE, ...headers },
  });
}

/** Makes a request whose answer may be in the exact format. */
export function requestExact(
  broker: TestBroker,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  return broker.request(method, path, {
    headers: { Accept: `${EXACT_TYPE}, application/json`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** The messages of an answer, and the texts beside them. */
export interface ExactAnswer {
  readonly messages: readonly ReceivedMessage[];
  readonly texts: Readonly<Record<string, string>>;
}

/** Decodes an answer. Asserts that each message, encoded again, gives the same bytes. */
export function readExact(answer: Answer): ExactAnswer {
  assert.equal(answer.headers.get('content-type'), EXACT_TYPE);
  const { body, applicationProperties } = readSections(answer.bytes);
  const messages = body.map((section) => {
    assert.ok(section.type === 'described' && section.value.type === 'binary');
    const received = readReceived(section.value.value);
    assert.deepEqual(Buffer.from(writeMessage(received)), Buffer.from(section.value.value));
    return received;
  });
  const texts = [...fieldsOf(applicationProperties)].map(([name, value]) => [name, textOf(value)]);
  return { messages, texts: Object.fromEntries(texts) as Record<string, string> };
}

/** The lock tokens of messages. */
export function tokensOf({ messages }: ExactAnswer): readonly string[] {
  return messages.map((one) => ('lockToken' in one ? one.lockToken : ''));
}

/** Properties in the typed JSON of the HTTP interface: text, since JSON.stringify cannot print all of their types. */
export function typedJson(properties: Properties): string {
  return printProperties(properties);
}
