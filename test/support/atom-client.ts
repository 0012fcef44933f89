import { NAMESPACE } from '../../lambdas/http/atom/namespaces.ts';
import { manageRoutes } from '../../lambdas/http/atom/routes.ts';
import { parseXml, type XmlElement } from '../../lambdas/http/atom/xml.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { fakeManageDependencies } from './fake-entity-store.ts';

/** What a call says beside its path. */
export interface AtomCall {
  readonly body?: string | Uint8Array;
  readonly ifMatch?: string;
  /** Whole header; the root key's token for the whole namespace if it is not named. */
  readonly authorization?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back. */
export interface AtomAnswer {
  readonly status: number;
  readonly etag: string | null;
  readonly text: string;
}

export const ROOT = { keyName: 'RootManageSharedAccessKey', key: 'R'.repeat(44) };
const ORIGIN = 'http://localhost:5300';

/** Management routes over stores in memory, and a way to call them. */
export function startAtom() {
  const parts = fakeManageDependencies(ROOT);
  const app = manageRoutes(parts);
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
  return { parts, call };
}

/** A token for a path and all below it, good for an hour. */
export function token(
  path: string,
  { keyName, key }: { readonly keyName: string; readonly key: string },
  expiresAt = Date.now() + 3_600_000,
): string {
  return createSasToken({ audience: ORIGIN + path, keyName, key, expiresAt });
}

/** A body of the kind that every PUT has. */
export function entry(description: string, inner = ''): string {
  return `<entry xmlns="${NAMESPACE.atom}"><content type="application/xml"><${description} xmlns="${NAMESPACE.description}" xmlns:i="${NAMESPACE.instance}">${inner}</${description}></content></entry>`;
}

/** The description in an entry, as names and texts in their order; runtime properties included. */
export function shown(text: string): Readonly<Record<string, string>> {
  const description = child(child(parseXml(new TextEncoder().encode(text)), 'content'));
  return Object.fromEntries(description.children.map((one) => [one.name, one.text]));
}

/** The paths in the ids of a feed's entries, and its own links by relation. */
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
