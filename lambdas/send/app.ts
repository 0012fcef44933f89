import type { Hono } from 'hono';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { OutgoingMessage } from '../../shared/domain/message.ts';
import { requirePropertiesFit } from '../../shared/domain/property-limits.ts';
import { isBatchContentType, parseBatch } from '../http/batch-format.ts';
import { readBrokerProperties } from '../http/broker-properties.ts';
import { isJsonObject, parseExactJson } from '../http/exact-json.ts';
import { decodeHeader } from '../http/header-text.ts';
import { jsonAnswer } from '../http/json-answer.ts';
import type { HttpParts } from '../http/parts.ts';
import { readPropertyHeaders } from '../http/property-headers.ts';
import { readProperties } from '../http/property-json.ts';
import { readBody } from '../http/request-body.ts';
import { createApp, serve } from '../http/routing.ts';
import { parseSequenceNumbers, printSentNumbers } from '../http/sequence-numbers.ts';

/** Sending one message or a batch (semantics §12.3, §12.4), now or later (§3.4). */
export function sendRoutes(parts: HttpParts): Hono {
  const app = createApp(parts);

  serve(app, parts, 'send', async (c, path) => {
    const body = await readBody(c.req.raw);
    // Headers about a message mean nothing beside a batch, whose messages have their own.
    const messages = isBatchContentType(c.req.raw.headers.get('content-type'))
      ? parseBatch(body)
      : [readMessage(c.req.raw.headers, body)];
    await parts.broker.send(path, messages);
    return c.body(null, 201);
  });
  serve(app, parts, 'schedule', async (c, path) => {
    const messages = parseBatch(await readBody(c.req.raw));
    requireScheduled(messages);
    return jsonAnswer(c, printSentNumbers(await parts.broker.send(path, messages)), 201);
  });
  serve(app, parts, 'cancelScheduled', async (c, path) => {
    await parts.broker.cancelScheduled(path, parseSequenceNumbers(await readBody(c.req.raw)));
    return c.body(null, 200);
  });

  return app;
}

/** Throws ArgumentError where a message says nothing of when. */
function requireScheduled(messages: readonly OutgoingMessage[]): void {
  const place = messages.findIndex(({ scheduledEnqueueAt }) => scheduledEnqueueAt === undefined);
  if (place < 0) return;
  throw new BrokerError(
    'ArgumentError',
    `Message ${place} of the batch: ScheduledEnqueueTimeUtc is required.`,
    { subCode: '40000' },
  );
}

function readMessage(headers: Headers, body: Uint8Array): OutgoingMessage {
  const header = headers.get('brokerproperties');
  const json =
    header === null
      ? undefined
      : parseExactJson(decodeHeader(header), 'The BrokerProperties header');
  const contentType = headers.get('content-type');
  const properties = {
    ...readPropertyHeaders(headers),
    // What a receiver got there because no header could carry it can be sent on the same way.
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
