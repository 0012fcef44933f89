import { type Context, Hono } from 'hono';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { tooLarge } from '../../../shared/domain/messages/outgoing-rules.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import { readBrokerProperties } from '../format/broker-properties.ts';
import { isJsonObject, parseExactJson } from '../format/exact-json.ts';
import { decodeHeader } from '../format/header-text.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import { printProperties } from '../format/print-properties.ts';
import { readPropertyHeaders } from '../format/property-headers.ts';
import { readProperties } from '../format/property-json.ts';
import { parseSequenceNumbers, printSentNumbers } from '../format/sequence-numbers.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { batchFormatOf, JSON_BATCH, readBatchBody } from '../message-formats/batch-format.ts';
import { idempotencyKeyOf, type KeyedSend, sendOnce } from '../message-formats/idempotency-key.ts';
import { type BodyLimit, NAMES_LIMIT, plainLimit, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';
import { maxMessageBytes, serveSenderFacts } from './entity-facts.ts';

/** The routes that send one message or a batch (semantics H9, H15), at once or scheduled (semantics M25). */
export function sendRoutes(dependencies: HttpDependencies): Hono {
  const app = new Hono();

  serve(app, dependencies, 'send', async (c, path) => {
    const { headers } = c.req.raw;
    // Message headers are ignored for a batch, whose messages have their own properties.
    const format = batchFormatOf(headers.get('content-type'));
    const key = idempotencyKeyOf(headers);
    const bytesMax = await maxMessageBytes(dependencies, path);
    const limit = format?.limit(bytesMax) ?? messageLimit(bytesMax);
    await withBody(dependencies, c.req.raw, limit, async (body, account) => {
      const messages =
        format === undefined
          ? [readSingleMessage(headers, body)]
          : await readBatchBody(format, body, account, turnsOf(c, dependencies));
      const parts = format === undefined ? partsOf(headers, messages) : [format.contentType];
      await send(dependencies, key, { path, messages, parts: ['send', ...parts, body] });
    });
    // The messages are durable now; the answer has no sequence number (semantics #B1).
    return c.body(null, 201);
  });
  serve(app, dependencies, 'schedule', async (c, path) => {
    const format = batchFormatOf(c.req.raw.headers.get('content-type')) ?? JSON_BATCH;
    const key = idempotencyKeyOf(c.req.raw.headers);
    const limit = format.limit(await maxMessageBytes(dependencies, path));
    const sent = await withBody(dependencies, c.req.raw, limit, async (body, account) => {
      const messages = await readBatchBody(format, body, account, turnsOf(c, dependencies));
      requireScheduled(messages);
      const parts = ['schedule', format.contentType, body];
      return await send(dependencies, key, { path, messages, parts });
    });
    return jsonAnswer(c, printSentNumbers(sent), 201);
  });
  serve(app, dependencies, 'cancelScheduled', async (c, path) => {
    const numbers = await withBody(dependencies, c.req.raw, NAMES_LIMIT, parseSequenceNumbers);
    await dependencies.broker.cancelScheduled(path, numbers);
    return c.body(null, 200);
  });

  serveSenderFacts(app, dependencies);
  return app;
}

/** Sends messages; with an idempotency key only once. Throws as `Broker.send`, or as `Broker.transact`. */
function send(
  { broker }: HttpDependencies,
  key: string | undefined,
  one: KeyedSend,
): ReturnType<typeof sendOnce> {
  return key === undefined ? broker.send(one.path, one.messages) : sendOnce(broker, key, one);
}

/** What a message in headers and body consists of beside its body. */
function partsOf(headers: Headers, [message]: readonly OutgoingMessage[]): readonly string[] {
  const fields = ['content-type', 'brokerproperties'].map((name) => headers.get(name) ?? '');
  return [...fields, printProperties(message?.properties ?? {})];
}

/** The limit of a body that is one message without its properties. */
function messageLimit(bytes: number): BodyLimit {
  const tooLong = (length: number) => tooLarge('message', length, bytes);
  return plainLimit(bytes, tooLong);
}

function turnsOf(c: Context, { workTurns }: HttpDependencies) {
  return { workTurns, request: c.req.raw };
}

/** Throws ArgumentError where a message has no ScheduledEnqueueTimeUtc. */
function requireScheduled(messages: readonly OutgoingMessage[]): void {
  const index = messages.findIndex(({ scheduledEnqueueAt }) => scheduledEnqueueAt === undefined);
  if (index < 0) return;
  throw argumentError(`Message ${index} of the batch: ScheduledEnqueueTimeUtc is required.`);
}

function readSingleMessage(headers: Headers, body: Uint8Array): OutgoingMessage {
  const header = headers.get('brokerproperties');
  const json =
    header === null
      ? undefined
      : parseExactJson(decodeHeader(header), 'The BrokerProperties header');
  const contentType = headers.get('content-type');
  const properties = {
    ...readPropertyHeaders(headers),
    // A receive returns properties here that no header can carry, so a send accepts them here too.
    ...(isJsonObject(json) ? readProperties(json['UserProperties']) : {}),
  };
  requirePropertiesFit(properties);
  return {
    ...(contentType === null ? {} : { contentType: decodeHeader(contentType) }),
    ...readBrokerProperties(json),
    body,
    properties,
  };
}
