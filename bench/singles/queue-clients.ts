/** The messages that a benchmark expects from a queue. */
export interface ExpectedMessages {
  /**
   * How many messages a client that polls should ask for, at most `most`: those that are sent and that no client has
   * received or asked for. 0 = the client has nothing more to do.
   */
  seek(most: number): number;
  /** A poll that asked for `sought` messages received `received`. */
  sought(sought: number, received: number): void;
  /** A message was received and completed. Throws if it was not sent, or was completed before. */
  completed(body: Uint8Array | string): void;
  /** Receiving has failed. */
  failed(error: unknown): void;
}

/** A number of clients that use one queue of a broker. */
export interface QueueClients {
  /** Sends messages in one call. Resolves once the broker has confirmed them. */
  send(client: number, bodies: readonly Buffer[]): Promise<void>;
  /** Starts to receive and complete with all clients, each up to `batch` messages at a time. */
  receive(batch: number, expected: ExpectedMessages): Promise<Receiving>;
  /** Closes the clients and deletes the queue. */
  close(): Promise<void>;
}

/** Clients that receive. */
export interface Receiving {
  /** Resolves once no client uses the queue any more. */
  stop(): Promise<void>;
}

/** Creates an empty queue, and opens a number of clients. */
export type OpenQueue = (clients: number) => Promise<QueueClients>;
