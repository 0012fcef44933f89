/**
 * The addresses in answers. They are those under which the client reached the service, so that they
 * work from where it stands; the official clients take names and pages from them (captures §4).
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

  /** Of one page of a list. */
  page(path: string, { skip, top }: PageRange): string {
    return `${this.#url.origin}/${path}?%24skip=${skip}&%24top=${top}&${this.#apiVersion()}`;
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
