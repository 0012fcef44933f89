import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import {
  type EntityPath,
  parseEntityPath,
  pathOf,
} from '../../shared/domain/entities/entity-path.ts';
import { CODE, codeOf } from '../wire/descriptors.ts';
import { type AmqpValue, textOf } from '../wire/value.ts';

/** What a link leads to. */
export type Node =
  /** Where clients put tokens. */
  | { readonly kind: 'claims' }
  /** Requests about an entity. */
  | { readonly kind: 'management'; readonly path: EntityPath; readonly pathname: string }
  | { readonly kind: 'entity'; readonly path: EntityPath; readonly pathname: string }
  | { readonly kind: 'coordinator' };

const { linkTextLength: LENGTH_MAX } = BUDGETS.connection;
const MANAGEMENT = '/$management';

/** The node that a source or target names. Throws ArgumentError for a name that none can have. */
export function nodeOf(terminus: AmqpValue | undefined): Node {
  if (codeOf(terminus) === CODE.coordinator) return { kind: 'coordinator' };
  const address = addressOf(terminus) ?? '';
  requireShort(address);
  const fullPath = addressPath(address);
  if (fullPath.toLowerCase() === '$cbs') return { kind: 'claims' };
  const entityName = withoutManagementSuffix(fullPath);
  const path = parseEntityPath(entityName);
  const pathname = pathOf(path.name, path.subQueue);
  if (entityName === fullPath) return { kind: 'entity', path, pathname };
  return { kind: 'management', path, pathname: `${pathname}${MANAGEMENT}` };
}

/** Throws ArgumentError for a name or address that no client has a use for: it would be kept and searched. */
export function requireShort(nameOrAddress: string): void {
  if (nameOrAddress.length <= LENGTH_MAX) return;
  throw new BrokerError(
    'ArgumentError',
    `The name or address '${nameOrAddress.slice(0, 40)}…' has ${nameOrAddress.length} characters; the limit is ${LENGTH_MAX}.`,
  );
}

/** The text of a source's or target's address. */
export function addressOf(terminus: AmqpValue | undefined): string | undefined {
  if (terminus?.type !== 'described' || terminus.value.type !== 'list') return undefined;
  return textOf(terminus.value.value[0]);
}

/** The path in an address, which may be a whole URL, without slashes around it. */
export function addressPath(address: string): string {
  const path = address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  let start = 0;
  let end = path.length;
  while (path[start] === '/') start++;
  while (end > start && path[end - 1] === '/') end--;
  return path.slice(start, end);
}

/** The entity of a management address; other paths as they are. */
export function withoutManagementSuffix(pathname: string): string {
  return pathname.toLowerCase().endsWith(MANAGEMENT)
    ? pathname.slice(0, -MANAGEMENT.length)
    : pathname;
}
