import { Hono } from 'hono';
import { requireSendPath } from '../../../shared/broker/send/send.ts';
import { argumentError, entityNotFound } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { tooLarge } from '../../../shared/domain/messages/outgoing-rules.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import { isBatchContentType, parseBatch } from '../format/batch-format.ts';
import { readBrokerProperties } from '../format/broker-properties.ts';
import { isJsonObject, parseExactJson } from '../format/exact-json.ts';
import { decodeHeader } from '../format/header-text.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import { readPropertyHeaders } from '../format/property-headers.ts';
import { readProperties } from '../format/property-json.ts';
import { parseSequenceNumbers, printSentNumbers } from '../format/sequence-numbers.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import {
  type BodyAccount,
  type BodyLimit,
  jsonLimit,
  NAMES_LIMIT,
  plainLimit,
  withBody,
} from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';

/** The routes that send one message or a batch (semantics H9, H15), at once or scheduled (semantics M25). */
export function sendRoutes(dependencies: HttpDependencies): Hono {
  const app = new Hono();

  serve(app, dependencies, 'send', async (c, path) => {
    const { headers } = c.req.raw;
    // Message headers are ignored for a batch, whose messages have their own properties.
    const isBatch = isBatchContentType(headers.get('content-type'));
    const limit = isBatch ? batchLimit : messageLimit;
    const bytesMax = await maxMessageBytes(dependencies, path);
    await withBody(dependencies, c.req.raw, limit(bytesMax), async (body, account) => {
      const messages = isBatch
        ? await readBatchBody(dependencies, body, account, c.req.raw)
        : [readSingleMessage(headers, body)];
      await dependencies.broker.send(path, messages);
    });
    // The messages are durable now; the answer has no sequence number (semantics #B1).
    return c.body(null, 201);
  });
  serve(app, dependencies, 'schedule', async (c, path) => {
    const limit = batchLimit(await maxMessageBytes(dependencies, path));
    const sent = await withBody(dependencies, c.req.raw, limit, async (body, account) => {
      const messages = await readBatchBody(dependencies, body, account, c.req.raw);
      requireScheduled(messages);
      return await dependencies.broker.send(path, messages);
    });
    return jsonAnswer(c, printSentNumbers(sent), 201);
  });
  serve(app, dependencies, 'cancelScheduled', async (c, path) => {
    const numbers = await withBody(dependencies, c.req.raw, NAMES_LIMIT, parseSequenceNumbers);
    await dependencies.broker.cancelScheduled(path, numbers);
    return c.body(null, 200);
  });

  return app;
}

/**
 * The largest message that an entity accepts, bytes, so that no larger body is read. Reads the entity through
 * the cache. Throws InvalidOperation for a path that accepts no messages, and MessagingEntityNotFound.
 */
async function maxMessageBytes({ entities }: HttpDependencies, path: EntityPath): Promise<number> {
  requireSendPath(path);
  const description = (await entities.find(path.key))?.description;
  if (description === undefined || description.kind === 'subscription') {
    throw entityNotFound(path.name);
  }
  return description.maxMessageSizeInKilobytes * 1024;
}

/** The limit of a body that is one message without its properties. */
function messageLimit(bytes: number): BodyLimit {
  const tooLong = (length: number) => tooLarge('message', length, bytes);
  return plainLimit(bytes, tooLong);
}

/** The limit of a JSON batch for an entity whose messages may have `messageBytes`. */
function batchLimit(messageBytes: number): BodyLimit {
  const { batchBytes, batchBytesPerByte, batchExtraBytes } = BUDGETS.request;
  const batchBytesMax = Math.max(messageBytes, LIMITS.batchBytes);
  const bytes = Math.min(batchBytes, batchBytesPerByte * batchBytesMax + batchExtraBytes);
  const tooLong = (length: number) => tooLarge('batch', length, bytes);
  return { ...jsonLimit(bytes), tooLong };
}

/**
 * Parses a batch and counts the memory of its messages, which exceeds that of its bytes: a message of ten
 * bytes may take a thousand until it is stored. Throws as `parseBatch`; ServiceBusy where no memory is left.
 */
async function readBatchBody(
  { workTurns }: HttpDependencies,
  body: Uint8Array,
  account: BodyAccount,
  request: Request,
): Promise<readonly OutgoingMessage[]> {
  const messages = parseBatch(body);
  account.hold(messages.length * BUDGETS.weights.sentMessageBytes);
  // Sending many messages takes about as long as parsing them, so it gets a turn of its own.
  if (messages.length > BUDGETS.request.turnMessages) await workTurns.next(request);
  return messages;
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
