import { createSasToken } from '../../shared/auth/sas-token.ts';

/** An HTTP response. */
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
  /** Replaces the token of the root key; `null` sends none. */
  readonly authorization?: string | null;
}

/** What `fetch` does here. */
export type Send = (
  url: string,
  request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Buffer<ArrayBuffer>;
  },
) => Promise<{
  readonly status: number;
  readonly headers: Headers;
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}>;

/** A plain HTTP client with a token of the root key. */
export class ApiClient {
  readonly url: string;
  readonly #authorization: string;
  readonly #send: Send;

  /** `send` replaces requests over the network. */
  constructor(url: string, rootKey: string, send: Send = fetch) {
    this.url = url;
    this.#send = send;
    this.#authorization = createSasToken({
      audience: url,
      keyName: 'RootManageSharedAccessKey',
      key: rootKey,
      // Later than any instant to which a test moves its clock.
      expiresAt: Date.UTC(9999, 0, 1),
    });
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { authorization = this.#authorization, body } = options;
    const response = await this.#send(path.startsWith('http') ? path : `${this.url}/${path}`, {
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

/** Throws an error with the text of the answer if its status is another. */
export function expectStatus(answer: Answer, status: number): void {
  if (answer.status !== status) {
    throw new Error(`Expected ${status}, got ${answer.status}: ${answer.text}`);
  }
}
