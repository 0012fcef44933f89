import { createSasToken } from '../../shared/auth/sas-token.ts';

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON. */
  json<T>(): T;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Replaces the token of the root key; `null` = none. */
  readonly authorization?: string | null;
}

/** Plain HTTP with a token of the root key, as any client would speak it. */
export class ApiClient {
  readonly url: string;
  readonly #authorization: string;
  readonly #fetch: typeof fetch;

  /** `send` carries requests in another way than over the network. */
  constructor(url: string, rootKey: string, send: typeof fetch = fetch) {
    this.url = url;
    this.#fetch = send;
    this.#authorization = createSasToken({
      audience: url,
      keyName: 'RootManageSharedAccessKey',
      key: rootKey,
      // Far beyond wherever a test may move its clock.
      expiresAt: Date.UTC(9999, 0, 1),
    });
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { authorization = this.#authorization, body } = options;
    const response = await this.#fetch(path.startsWith('http') ? path : `${this.url}/${path}`, {
      method,
      headers: {
        ...(authorization === null ? {} : { Authorization: authorization }),
        ...options.headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? Buffer.from(body) : Buffer.from(body) }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text,
      json: <T>() => JSON.parse(text) as T,
    };
  }
}
