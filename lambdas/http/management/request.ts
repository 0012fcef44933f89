import type { IfMatch } from '../../../shared/broker/management/if-match.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { type BodyLimit, withBody } from '../routing/request-body.ts';
import type { PageRange } from './links.ts';

/** Reads the requested page of a list, of at most `topMax` entries. Throws ArgumentError. */
export function readPageRange(query: URLSearchParams, topMax: number = LIMITS.listPage): PageRange {
  return {
    skip: integerParameter(query, '$skip', 0) ?? 0,
    top: Math.min(integerParameter(query, '$top', 1) ?? LIMITS.listPage, topMax),
  };
}

function integerParameter(query: URLSearchParams, name: string, min: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min) return value;
  throw argumentError(
    `The value '${text.slice(0, 64)}' of ${name} is not a whole number from ${min} on.`,
  );
}

/** Reads `If-Match` (semantics G2); undefined where it is absent or empty, so that a PUT creates. */
export function readIfMatch(headers: Headers): IfMatch | undefined {
  const text = headers.get('if-match')?.trim();
  if (text === undefined || text === '') return undefined;
  if (text === '*') return '*';
  return text.split(',').map((tag) => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, ''));
}

const { bytes: BYTES_MAX } = BUDGETS.xml;
const DOCUMENT_LIMIT: BodyLimit = {
  bytes: BYTES_MAX,
  weight: BUDGETS.request.heldPerXmlByte,
  largeWeight: BUDGETS.request.heldPerXmlByte,
  turnBytes: BUDGETS.request.turnTextBytes,
  isAuthorized: true,
  tooLong: () => argumentError(`The body is longer than ${BYTES_MAX} bytes, which is the limit.`),
};

/** Reads a body of at most `BUDGETS.xml.bytes` and runs `read` on it. Throws as `withBody` and `read`. */
export function withDocument<Read>(
  dependencies: Pick<HttpDependencies, 'memory' | 'workTurns'>,
  request: Request,
  read: (body: Uint8Array) => Read,
): Promise<Read> {
  return withBody(dependencies, request, DOCUMENT_LIMIT, read);
}

/** The first API version whose topics have the counts of their filters (semantics G29). */
const FILTER_COUNTS_VERSION = '2024-05';

/** Whether the client knows the counts of a topic's filters: other clients do not pay for them. */
export function wantsFilterCounts({ url }: Request): boolean {
  const version = new URL(url).searchParams.get('api-version');
  return version !== null && /^\d{4}-\d\d/.test(version) && version >= FILTER_COUNTS_VERSION;
}
