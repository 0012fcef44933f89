import type { Context } from 'hono';

/** An answer of JSON text; text, since sequence numbers have more digits than JavaScript's numbers. */
export function jsonAnswer(c: Context, text: string, status: 200 | 201 = 200): Response {
  return c.body(text, status, { 'Content-Type': 'application/json' });
}
