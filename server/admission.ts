import type { IncomingHttpHeaders } from 'node:http';

/** Decides by a request's header fields whether it is served, before anything else happens. */
export interface Admission {
  /** Why a request or a WebSocket is refused, as a sentence for its sender; undefined = it is served. */
  refusal(headers: IncomingHttpHeaders): string | undefined;
}
