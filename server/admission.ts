import type { IncomingHttpHeaders } from 'node:http';

/** Decides by its header fields whether a request is served at all, before anything else is done. */
export interface Admission {
  /** Why a request, or a WebSocket, is refused: a sentence for its sender. Absent = it is served. */
  refusal(headers: IncomingHttpHeaders): string | undefined;
}
