/** Where bytes go: a socket, or what a WebSocket carries. */
export interface Transport {
  /** The address of the peer, where it is known. */
  readonly peer?: string | undefined;
  /** Bytes that were written and are not gone yet. */
  readonly backlog: number;
  /** Calls back when they are gone, or never will be. */
  write(bytes: Uint8Array, written: () => void): void;
  /** Takes nothing in for now. */
  pause(): void;
  resume(): void;
  /** Writes what is left, and says that no more comes. */
  end(): void;
  /** Ends at once. */
  destroy(): void;
}
