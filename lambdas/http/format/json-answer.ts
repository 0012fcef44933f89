import type { Context } from 'hono';

/** A JSON response of printed text: JSON.stringify cannot print 64-bit sequence numbers. */
export function jsonAnswer(c: Context, text: string, status: 200 | 201 = 200): Response {
  return c.body(text, status, { 'Content-Type': 'application/json' });
}
