import { type EntityPath, parseEntityPath } from '../../shared/domain/entity-path.ts';
import { type AmqpValue, codeOf, textOf } from '../wire/value.ts';

/** What a link leads to. */
export type Node =
  /** Where clients put tokens. */
  | { readonly kind: 'claims' }
  /** Requests about an entity. */
  | { readonly kind: 'management'; readonly path: EntityPath; readonly pathname: string }
  | { readonly kind: 'entity'; readonly path: EntityPath; readonly pathname: string }
  | { readonly kind: 'coordinator' };

const MANAGEMENT = '/$management';
const COORDINATOR = 0x30n;

/** The node that a source or target names. Throws ArgumentError for a name that none can have. */
export function nodeOf(terminus: AmqpValue | undefined): Node {
  if (codeOf(terminus) === COORDINATOR) return { kind: 'coordinator' };
  const pathname = addressPath(addressOf(terminus) ?? '');
  if (pathname.toLowerCase() === '$cbs') return { kind: 'claims' };
  const entity = withoutNode(pathname);
  const kind = entity === pathname ? 'entity' : 'management';
  return { kind, path: parseEntityPath(entity), pathname };
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
export function withoutNode(pathname: string): string {
  return pathname.toLowerCase().endsWith(MANAGEMENT)
    ? pathname.slice(0, -MANAGEMENT.length)
    : pathname;
}
