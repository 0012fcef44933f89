import { argumentError } from '../../../shared/domain/broker-error.ts';
import { trimSlashes } from '../../../shared/domain/entities/entity-path.ts';
import { requireRuleName } from '../../../shared/domain/entities/rule-name.ts';

/**
 * The resource that a path of the management API names (semantics N2, #145). `of` = the queue or dead-letter queue of a
 * consumer; `path` = the whole path.
 */
export type ManagePath =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'everything' }
  | { readonly kind: 'queues' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'subscriptions'; readonly topic: string }
  | { readonly kind: 'rules'; readonly subscription: string }
  | { readonly kind: 'rule'; readonly subscription: string; readonly name: string }
  | { readonly kind: 'consumers'; readonly of: string; readonly path: string }
  | { readonly kind: 'consumer'; readonly of: string; readonly name: string; readonly path: string }
  | { readonly kind: 'entity'; readonly path: string };

const RULE = /^(.+\/subscriptions\/[^/]+)\/rules(?:\/([^/]+))?$/i;
/** `…/subscriptions/consumers` is a subscription of that name, `…/consumers/consumers` a consumer of that name. */
const CONSUMER = /^(.+)(?<!\/subscriptions)\/consumers\/([^/]+)$/i;
const CONSUMERS = /^(.+)(?<!\/subscriptions)\/consumers$/i;
const SUBSCRIPTIONS = /^(.+)\/subscriptions$/i;

/**
 * Parses the percent-encoded path of a URL. Words of the API match in any case; trailing slashes are ignored,
 * since the official clients end the paths of lists with one. Throws ArgumentError.
 */
export function parseManagePath(pathname: string): ManagePath {
  const path = trimSlashes(decodePath(pathname));
  switch (path.toLowerCase()) {
    case '':
      return { kind: 'discovery' };
    case '$namespaceinfo':
      return { kind: 'namespace' };
    case '$entities':
      return { kind: 'everything' };
    case '$resources/queues':
      return { kind: 'queues' };
    case '$resources/topics':
      return { kind: 'topics' };
  }
  const [, subscription, rule] = RULE.exec(path) ?? [];
  if (subscription !== undefined) {
    if (rule === undefined) return { kind: 'rules', subscription };
    // Checked for reads too, because DynamoDB limits the length of keys.
    requireRuleName(rule);
    return { kind: 'rule', subscription, name: rule };
  }
  const [, of, name] = CONSUMER.exec(path) ?? [];
  if (of !== undefined && name !== undefined) return { kind: 'consumer', of, name, path };
  const consumed = CONSUMERS.exec(path)?.[1];
  if (consumed !== undefined) return { kind: 'consumers', of: consumed, path };
  const topic = SUBSCRIPTIONS.exec(path)?.[1];
  return topic === undefined ? { kind: 'entity', path } : { kind: 'subscriptions', topic };
}

function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw argumentError('The path is not percent-encoded UTF-8.');
  }
}
