import type { Hono } from 'hono';
import type { OutgoingMessage } from '../../shared/domain/message.ts';
import { requirePropertiesFit } from '../../shared/domain/property-limits.ts';
import { isBatchContentType, parseBatch } from '../http/batch-format.ts';
import { readBrokerProperties } from '../http/broker-properties.ts';
import { isJsonObject, parseExactJson } from '../http/exact-json.ts';
import { decodeHeader } from '../http/header-text.ts';
import type { HttpParts } from '../http/parts.ts';
import { readPropertyHeaders } from '../http/property-headers.ts';
import { readProperties } from '../http/property-json.ts';
import { readBody } from '../http/request-body.ts';
import { createApp, serve } from '../http/routing.ts';

/** Sending one message or a batch (semantics §12.3, §12.4). */
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

  return app;
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
