import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import {
  type EntityPath,
  parseEntityPath,
  pathOf,
  trimSlashes,
} from '../../shared/domain/entities/entity-path.ts';
import { CODE, codeOf } from '../wire/descriptors.ts';
import { type AmqpValue, textOf } from '../wire/value.ts';

/** The node that a link is attached to. */
export type Node =
  /** `$cbs`, where clients put tokens. */
  { readonly kind: 'cbs' } | ManagementNode | EntityNode | { readonly kind: 'coordinator' };

/** `$management` of an entity; `pathname` = its whole address. */
export type ManagementNode = NodeOf<'management'>;
/** A node that is an entity or its sub-queue, to send to or receive from. */
export type EntityNode = NodeOf<'entity'>;
type NodeOf<Kind> = { readonly kind: Kind; readonly path: EntityPath; readonly pathname: string };

const { linkTextLength: LENGTH_MAX } = BUDGETS.connection;
const MANAGEMENT = '/$management';

/** Returns the node that a source or target addresses (semantics W4). Throws ArgumentError for an invalid address. */
export function nodeOf(terminus: AmqpValue | undefined): Node {
  if (codeOf(terminus) === CODE.coordinator) return { kind: 'coordinator' };
  const address = addressOf(terminus) ?? '';
  requireShort(address);
  const fullPath = addressPath(address);
  if (fullPath.toLowerCase() === '$cbs') return { kind: 'cbs' };
  const entityName = withoutManagementSuffix(fullPath);
  const path = parseEntityPath(entityName);
  const pathname = pathOf(path.name, path.subQueue);
  if (entityName === fullPath) return { kind: 'entity', path, pathname };
  return { kind: 'management', path, pathname: `${pathname}${MANAGEMENT}` };
}

/**
 * Throws ArgumentError for a name or address longer than any honest one: the connection would keep it in
 * memory and search it.
 */
export function requireShort(nameOrAddress: string): void {
  if (nameOrAddress.length <= LENGTH_MAX) return;
  throw new BrokerError(
    'ArgumentError',
    `The name or address '${nameOrAddress.slice(0, 40)}…' has ${nameOrAddress.length} characters; the limit is ${LENGTH_MAX}.`,
  );
}

/** Returns the address of a source or target; undefined if it has none. */
export function addressOf(terminus: AmqpValue | undefined): string | undefined {
  if (terminus?.type !== 'described' || terminus.value.type !== 'list') return undefined;
  return textOf(terminus.value.value[0]);
}

/** Returns the path of an address, which may be a whole URL, without leading and trailing slashes. */
export function addressPath(address: string): string {
  return trimSlashes(address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, ''));
}

/** Returns a path without a trailing `/$management`. */
export function withoutManagementSuffix(pathname: string): string {
  return pathname.toLowerCase().endsWith(MANAGEMENT)
    ? pathname.slice(0, -MANAGEMENT.length)
    : pathname;
}
