/** The types of `createWebSocket`. They stand alone, since users read them without the code behind them. */

/** What a WebSocket passes to its listener. */
export interface SocketMessage {
  readonly data: ArrayBuffer;
}

/** A WebSocket as AMQP libraries use it. */
export interface ClientSocket {
  readonly url: string;
  /** Data comes as `ArrayBuffer`, whatever is set here. */
  binaryType: string;
  onopen: (() => void) | null;
  onmessage: ((message: SocketMessage) => void) | null;
  onclose: (() => void) | null;
  onerror: ((error: unknown) => void) | null;
  /** Passes bytes to the service. After the end they are dropped. */
  send(data: ArrayBuffer | ArrayBufferView): void;
  /** Ends the connection. `onclose` is called later. */
  close(): void;
}

/** A class for the option `webSocketOptions.webSocket` of `ServiceBusClient`. */
export interface ConnectedWebSocket {
  new (url: string, protocols?: string | string[], options?: unknown): ClientSocket;
  /**
   * Resolves when everything that clients have begun is done: sends, settlements, and the work behind them, such as
   * copies to subscriptions. Receivers go on; close them first where the process may freeze. Await it at the end of
   * each invocation of a Lambda function. Rejects after 10 s.
   */
  drain(): Promise<void>;
  /** Finishes the work under way, disconnects all clients, and frees what is held. Close the clients first. */
  close(): Promise<void>;
}
