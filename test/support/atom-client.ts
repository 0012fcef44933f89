import { NAMESPACE } from '../../lambdas/http/atom/namespaces.ts';
import { parseXml, type XmlElement } from '../../lambdas/http/atom/xml.ts';
import { manageRoutes } from '../../lambdas/http/management/routes.ts';
import { combineRoutes } from '../../lambdas/http/routing/combine-routes.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { fakeManageDependencies } from './fake-entity-store.ts';

/** The parts of a request besides method and path. */
export interface AtomCall {
  readonly body?: string | Uint8Array;
  readonly ifMatch?: string;
  /** The whole header. Default: a token of the root key for the whole namespace. */
  readonly authorization?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The response. */
export interface AtomAnswer {
  readonly status: number;
  readonly etag: string | null;
  readonly text: string;
}

export const ROOT = { keyName: 'RootManageSharedAccessKey', key: 'R'.repeat(44) };
const ORIGIN = 'http://localhost:5300';

/** The management routes over stores in memory, and a function that calls them. */
export function startAtom() {
  const dependencies = fakeManageDependencies(ROOT);
  const app = combineRoutes(dependencies, manageRoutes(dependencies));
  const root = token('', ROOT);
  const call = async (method: string, path: string, said: AtomCall = {}): Promise<AtomAnswer> => {
    const headers = {
      authorization: said.authorization ?? root,
      ...(said.ifMatch !== undefined && { 'if-match': said.ifMatch }),
      ...said.headers,
    };
    const body = said.body === undefined ? {} : { body: said.body };
    const answer = await app.request(ORIGIN + path, { method, headers, ...body });
    const { status } = answer;
    return { status, etag: answer.headers.get('etag'), text: await answer.text() };
  };
  return { dependencies, call };
}

/** A token for a path and all paths below it, valid for an hour. */
export function token(
  path: string,
  { keyName, key }: { readonly keyName: string; readonly key: string },
  expiresAt = Date.now() + 3_600_000,
): string {
  return createSasToken({ audience: ORIGIN + path, keyName, key, expiresAt });
}

/** The Atom entry of a PUT request. */
export function entry(description: string, inner = ''): string {
  return `<entry xmlns="${NAMESPACE.atom}"><content type="application/xml"><${description} xmlns="${NAMESPACE.description}" xmlns:i="${NAMESPACE.instance}">${inner}</${description}></content></entry>`;
}

/** Names and texts of the elements of a description, in order; includes runtime properties. */
export function shown(text: string): Readonly<Record<string, string>> {
  const description = child(child(parseXml(new TextEncoder().encode(text)), 'content'));
  return Object.fromEntries(description.children.map((one) => [one.name, one.text]));
}

/** The paths in the ids of a feed's entries, and the links of the feed by relation. */
export function listed(text: string): {
  readonly ids: readonly string[];
  readonly links: Readonly<Record<string, string>>;
} {
  const [head = '', ...entries] = text.split('<entry>');
  const ids = entries.map((one) => new URL(/^<id>(.*?)<\/id>/.exec(one)?.[1] ?? '').pathname);
  const links = [...head.matchAll(/<link rel="(\w+)" href="(.*?)"\/>/g)];
  return {
    ids,
    links: Object.fromEntries(links.map(([, rel, href]) => [rel, href?.replaceAll('&amp;', '&')])),
  };
}

function child(element: XmlElement, name?: string): XmlElement {
  const found = element.children.find((one) => name === undefined || one.name === name);
  if (found === undefined) throw new Error(`No ${name ?? 'child'} in ${element.name}.`);
  return found;
}
