import type { Result } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';
import type { H, RouterRoute } from 'hono/types';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

const { pathLength: LENGTH_MAX, pathSegments: SEGMENTS_MAX } = BUDGETS.request;

type Handler = [H, RouterRoute];

/**
 * Finds the handlers of a path. The time of Hono's search grows with the square of the number of segments,
 * and unauthenticated clients can send any path. So a path that is longer than every valid one, or has more
 * segments, gets a handler that throws ArgumentError, without a search.
 */
export class BoundedRouter extends TrieRouter<Handler> {
  override match(method: string, path: string): Result<Handler> {
    return isOverlong(path) ? OVERLONG : super.match(method, path);
  }
}

function isOverlong(path: string): boolean {
  if (path.length > LENGTH_MAX) return true;
  let segments = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) segments++;
  return segments > SEGMENTS_MAX;
}

const refuse: H = () => {
  throw argumentError(
    `The path is too long: no path of the service has more than ${LENGTH_MAX} characters or ${SEGMENTS_MAX} segments.`,
  );
};

/** The match of every path that is too long. */
const OVERLONG: Result<Handler> = [
  [[[refuse, { basePath: '/', path: '*', method: 'ALL', handler: refuse }], {}]],
];
