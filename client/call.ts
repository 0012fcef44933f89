import { encodePath } from './entity-path.ts';

/** A request to a namespace. */
export interface NamespaceCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the address of the namespace, not encoded, without a slash before it: `orders/messages`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | bigint | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A request to a namespace, and how long the service may wait for messages. */
export interface Call extends NamespaceCall {
  /** In addition to the time of every request, ms. */
  readonly waitMs?: number;
}

/** An answer. */
export interface HttpAnswer {
  readonly status: number;
  /** The value of a header; undefined if there is none. */
  header(name: string): string | undefined;
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** What calls a namespace, with the rights of somebody. */
export interface Caller {
  /**
   * Sends a request, again if the service is busy. Throws RefusalError for any answer that is no success, and
   * UnreachableError without an answer.
   */
  call(call: Call): Promise<HttpAnswer>;
}

/** The URL of a request. `address` = that of the namespace, without a slash at its end. */
export function urlOf(
  address: string,
  { path, query = {} }: Pick<NamespaceCall, 'path' | 'query'>,
): string {
  const fields = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`],
  );
  const url = `${address}/${encodePath(path)}`;
  return fields.length === 0 ? url : `${url}?${fields.join('&')}`;
}

/** Whether an answer is a success. */
export function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}
