import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

const JSON_TYPE = /^application\/json *(?:;|$)/i;

/** Refuses requests that a page of another site can make a browser send, with 403 or 415. */
export function refuseOtherSites(what: string): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.header('Sec-Fetch-Site') === 'cross-site') {
      return c.json({ error: `A page of another site may not ${what}.` }, 403);
    }
    if (c.req.method !== 'DELETE' && !JSON_TYPE.test(c.req.header('Content-Type') ?? '')) {
      return c.json(
        { error: `The body must have the Content-Type application/json to ${what}.` },
        415,
      );
    }
    return await next();
  };
}

/** Refuses a body of more bytes with 413. */
export function limitBody(maxSize: number): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError: (c) => c.json({ error: `The body is too large: the limit is ${maxSize} bytes.` }, 413),
  });
}

/** The JSON of the body; undefined if it is none. */
export async function jsonOf(c: Context): Promise<unknown> {
  return await c.req.json().catch(() => undefined);
}
