import { hasDotSegment } from '../../client/entity-path.ts';
import { Observable } from './observable.ts';

/** The place that the page shows; it is in the address, so that it can be kept and sent to others. */
export type Route =
  | { readonly view: 'overview' }
  | {
      readonly view: 'entity';
      /** The path of the entity. */
      readonly entity: string;
      /** The tab; the first one that makes sense if it is none. */
      readonly tab: string;
    };

/**
 * Reads the part of the address after `#`. A link may come from anybody, so a path whose address is that of another
 * entity is none: the page would name the one and act on the other.
 */
export function readRoute(hash: string): Route {
  const [, path = '', tab = ''] = /^#\/entity\/([^?]+)(?:\?tab=([\w-]*))?$/.exec(hash) ?? [];
  if (path === '') return { view: 'overview' };
  try {
    const entity = decodeURIComponent(path);
    return hasDotSegment(entity) ? { view: 'overview' } : { view: 'entity', entity, tab };
  } catch {
    return { view: 'overview' };
  }
}

/** The address of a place. */
export function hrefOf(route: Route): string {
  if (route.view === 'overview') return '#/';
  const tab = route.tab === '' ? '' : `?tab=${route.tab}`;
  return `#/entity/${encodeURIComponent(route.entity)}${tab}`;
}

const SECRET = /^#access=([\w-]+)$/;
const secret = SECRET.exec(location.hash)?.[1];
// It must not stay where one copies an address from.
if (secret !== undefined) history.replaceState(null, '', '#/');

/** The secret with which `dynabus explorer` has opened the page; undefined = there was none in the address. */
export function secretInAddress(): string | undefined {
  return secret;
}

/** The place that is shown now. */
export const currentRoute = new Observable<Route>(readRoute(location.hash));
addEventListener('hashchange', () => {
  currentRoute.value = readRoute(location.hash);
});
