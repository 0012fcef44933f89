/** A bidirectional stream of bytes: a socket, or the content of a WebSocket. */
export interface Transport {
  /** The address of the peer, if known. */
  readonly peer?: string | undefined;
  /** Bytes written that have not left the process yet. */
  readonly backlog: number;
  /** Writes bytes. Calls `written` once they have left the process, or never will. */
  write(bytes: Uint8Array, written: () => void): void;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  /** Writes the remaining bytes and ends the stream. */
  end(): void;
  /** Ends the stream at once and drops remaining bytes. */
  destroy(): void;
}
