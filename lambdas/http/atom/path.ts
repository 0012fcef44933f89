import { requireRuleName } from '../../../shared/domain/entities/rule-name.ts';
import { badValue } from '../../../shared/domain/entities/setting-checks.ts';

/** What a path of the management API names (semantics N2, #145). */
export type ManagePath =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'queues' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'subscriptions'; readonly topic: string }
  | { readonly kind: 'rules'; readonly subscription: string }
  | { readonly kind: 'rule'; readonly subscription: string; readonly name: string }
  | { readonly kind: 'entity'; readonly path: string };

const RULE = /^(.+\/subscriptions\/[^/]+)\/rules(?:\/([^/]+))?$/i;
const SUBSCRIPTIONS = /^(.+)\/subscriptions$/i;

/**
 * Reads the path of a URL, as it is encoded there. Words of the API match in any case; slashes at the
 * end do not count, since the official clients end lists with one. Throws ArgumentError.
 */
export function parseManagePath(pathname: string): ManagePath {
  const path = trimSlashes(decodePath(pathname));
  switch (path.toLowerCase()) {
    case '':
      return { kind: 'discovery' };
    case '$namespaceinfo':
      return { kind: 'namespace' };
    case '$resources/queues':
      return { kind: 'queues' };
    case '$resources/topics':
      return { kind: 'topics' };
  }
  const [, subscription, rule] = RULE.exec(path) ?? [];
  if (subscription !== undefined) {
    if (rule === undefined) return { kind: 'rules', subscription };
    // Also where it is only looked for: a key of the database may not have any length.
    requireRuleName(rule);
    return { kind: 'rule', subscription, name: rule };
  }
  const topic = SUBSCRIPTIONS.exec(path)?.[1];
  return topic === undefined ? { kind: 'entity', path } : { kind: 'subscriptions', topic };
}

/** A path without slashes around it. No pattern: `/+$` takes quadratic time on a long run of them. */
export function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (path[start] === '/') start++;
  while (end > start && path[end - 1] === '/') end--;
  return path.slice(start, end);
}

function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw badValue('The path is not percent-encoded UTF-8.');
  }
}
