/**
 * The addresses in answers. They are those under which the client reached the service, so that they
 * work from where it stands; the official clients take names and pages from them (semantics G9, G14).
 */
export class AtomLinks {
  readonly #url: URL;

  constructor(requestUrl: string) {
    this.#url = new URL(requestUrl);
  }

  /** Of a resource. Its name needs no escapes: names hold letters, digits, `.`, `-`, `_`, `/`, `$`. */
  resource(path: string): string {
    return `${this.#url.origin}/${path}?${this.#apiVersion()}`;
  }

  /** Of what was asked for, as it was asked: so the service identifies its lists. */
  get request(): string {
    return this.#url.href;
  }

  /** Of a later page of the list that was asked for: the request with another `$skip`, in its place or last. */
  page(skip: number): string {
    const members = this.#url.search.slice(1).split('&').filter(Boolean);
    const place = members.findIndex((member) => new URLSearchParams(member).has('$skip'));
    members.splice(place < 0 ? members.length : place, 1, `%24skip=${skip}`);
    const { origin, pathname } = this.#url;
    return `${origin}${pathname}?${members.join('&')}`;
  }

  /** Of a destination of forwarding. */
  destination(name: string): string {
    return `sb://${this.#url.host}/${name}`;
  }

  #apiVersion(): string {
    const version = this.#url.searchParams.get('api-version') ?? DEFAULT_API_VERSION;
    return `api-version=${encodeURIComponent(version)}`;
  }
}

/** The one that added the last element this server writes. Others are answered alike. */
const DEFAULT_API_VERSION = '2021-05';

/** Which part of a list. */
export interface PageRange {
  readonly skip: number;
  readonly top: number;
}
