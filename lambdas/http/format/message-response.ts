import type { Context } from 'hono';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { type EntityPath, pathOf } from '../../../shared/domain/entities/entity-path.ts';
import { printBrokerProperties } from './broker-properties.ts';
import { escapeNonAscii, fitsHeader } from './header-text.ts';
import { printProperties } from './print-properties.ts';
import { printPropertyHeaders } from './property-headers.ts';
import { sessionIdOf } from './session-query.ts';

/** The Content-Type of a message that was sent without one (semantics H12). */
const DEFAULT_CONTENT_TYPE = 'application/atom+xml;type=entry;charset=utf-8';

/**
 * The response of one message in headers and body (semantics H11). A content type or a property that no
 * header can or may carry is put into `BrokerProperties`, where clients ignore unknown members. Any other header of our
 * own would be a property to clients (semantics H20).
 */
export function messageResponse(
  c: Context,
  path: EntityPath,
  stored: ReceivedMessage,
  status: 200 | 201,
): Response {
  const { contentType, properties, body } = stored.message;
  const isPlainType = contentType === undefined || fitsHeader(contentType);
  const { headers: propertyHeaders, others } = printPropertyHeaders(properties);
  const brokerProperties = printBrokerProperties(stored, {
    view: 'received',
    contentType: !isPlainType,
    userProperties: Object.keys(others).length === 0 ? undefined : printProperties(others),
  });
  const headers = new Headers(
    propertyHeaders.map(([name, value]): [string, string] => [name, value]),
  );
  headers.set('Content-Type', (isPlainType && contentType) || DEFAULT_CONTENT_TYPE);
  headers.set('BrokerProperties', escapeNonAscii(brokerProperties));
  if ('lockToken' in stored) headers.set('Location', lockAddress(c, path, stored));
  return new Response(Uint8Array.from(body), { status, headers });
}

/** The URL by which the client completes, abandons or renews the lock (semantics #146). */
function lockAddress(
  c: Context,
  { key, subQueue }: EntityPath,
  { sequenceNumber, lockToken }: { readonly sequenceNumber: bigint; readonly lockToken: string },
): string {
  const { protocol, host } = new URL(c.req.url);
  // A gateway that terminates TLS forwards the request as plain HTTP.
  const forwarded = c.req.header('x-forwarded-proto');
  const scheme = forwarded === 'https' || forwarded === 'http' ? `${forwarded}:` : protocol;
  const address = `${scheme}//${host}/${pathOf(key, subQueue)}/messages/${sequenceNumber}/${lockToken}`;
  const sessionId = sessionIdOf(c);
  return sessionId === undefined
    ? address
    : `${address}?sessionId=${encodeURIComponent(sessionId)}`;
}
