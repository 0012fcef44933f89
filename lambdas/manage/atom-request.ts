import type { IfMatch } from '../../shared/broker/management-match.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { badValue } from '../../shared/domain/description-checks.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { PageRange } from './atom-links.ts';

/** Which part of a list a request asks for; a page has 100 at most. Throws ArgumentError. */
export function readPageRange(query: URLSearchParams): PageRange {
  return {
    skip: wholeParameter(query, '$skip', 0) ?? 0,
    top: Math.min(wholeParameter(query, '$top', 1) ?? LIMITS.listPage, LIMITS.listPage),
  };
}

function wholeParameter(query: URLSearchParams, name: string, min: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min) return value;
  throw badValue(
    `The value '${text.slice(0, 64)}' of ${name} is not a whole number from ${min} on.`,
  );
}

/** What `If-Match` demands; absent where it says nothing, which makes a PUT a creation. */
export function readIfMatch(headers: Headers): IfMatch | undefined {
  const text = headers.get('if-match')?.trim();
  if (text === undefined || text === '') return undefined;
  if (text === '*') return '*';
  return text.split(',').map((tag) => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, ''));
}

/** The whole body, read no further than a description can be long. Throws ArgumentError. */
export async function readBody(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > BUDGETS.xml.bytes) {
      throw badValue(`The body is longer than ${BUDGETS.xml.bytes} bytes, which is the limit.`);
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}
