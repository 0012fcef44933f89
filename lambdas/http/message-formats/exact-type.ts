import { acceptsType, typeOf } from '../management/media-types.ts';

/**
 * The content type of messages exactly as AMQP encodes them (semantics H22): one AMQP 1.0 message of Service Bus's
 * batch format, whose data sections are the messages. It holds what JSON cannot say, such as bodies that are no data.
 */
export const EXACT_CONTENT_TYPE = 'application/vnd.dynabus.amqp';

/** Whether a Content-Type is that of the exact format; case and parameters are ignored. */
export function isExactContentType(contentType: string | null): boolean {
  return typeOf(contentType ?? '') === EXACT_CONTENT_TYPE;
}

/** Whether a request names the exact format in `Accept`. Ranges such as any type do not name it. */
export function acceptsExact(request: Request): boolean {
  return acceptsType(request, EXACT_CONTENT_TYPE);
}
