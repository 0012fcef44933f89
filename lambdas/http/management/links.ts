/**
 * The URLs in responses. Their host is the one by which the client reached the service, so that they work for
 * this client; the official clients take names and pages from them (semantics G9, G14).
 */
export class ResourceLinks {
  readonly #url: URL;

  constructor(requestUrl: string) {
    this.#url = new URL(requestUrl);
  }

  /** The URL of a resource. Names need no escapes: they have letters, digits, `.`, `-`, `_`, `/` and `$`. */
  resource(path: string): string {
    return `${this.#url.origin}/${path}?${this.#apiVersion()}`;
  }

  /** The URL of the request, unchanged: the service uses it as the id of a list (semantics G10). */
  get request(): string {
    return this.#url.href;
  }

  /**
   * The URL of a later page of the requested list: the request with another `$skip`, in its place or last.
   */
  page(skip: number): string {
    const members = this.#url.search.slice(1).split('&').filter(Boolean);
    const place = members.findIndex((member) => new URLSearchParams(member).has('$skip'));
    members.splice(place < 0 ? members.length : place, 1, `%24skip=${skip}`);
    const { origin, pathname } = this.#url;
    return `${origin}${pathname}?${members.join('&')}`;
  }

  /** The URL of the page of the requested list that follows an entity. */
  pageAfter(path: string): string {
    const url = new URL(this.#url);
    url.searchParams.set('after', path);
    return url.href;
  }

  /** The address of a destination of forwarding. */
  destination(name: string): string {
    return `sb://${this.#url.host}/${name}`;
  }

  #apiVersion(): string {
    const version = this.#url.searchParams.get('api-version') ?? DEFAULT_API_VERSION;
    return `api-version=${encodeURIComponent(version)}`;
  }
}

/**
 * The version that introduced the newest element that this server writes. All versions get the same
 * response (semantics G6).
 */
const DEFAULT_API_VERSION = '2021-05';

/** Converts the name of a destination to its absolute address in this namespace (semantics F1). */
export type AddressOf = (name: string) => string;

/** A page of a list: `top` entries after the first `skip`. */
export interface PageRange {
  readonly skip: number;
  readonly top: number;
}
