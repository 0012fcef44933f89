import type { Duplex } from 'node:stream';

/** By sockets, those within TLS as well. */
const ADDRESSES = new WeakMap<Duplex, string>();

/** Notes the address of a client that is connected by way of a load balancer. */
export function noteClientAddress(socket: Duplex, address: string): void {
  ADDRESSES.set(socket, address);
}

/** The address of a client, as the load balancer before us told it; absent where none is before us. */
export function clientAddressOf(socket: Duplex): string | undefined {
  return ADDRESSES.get(socket);
}

/** The same for a request: `bindings` are what our HTTP server hands an app beside it. */
export function clientOf(bindings: object | undefined): string | undefined {
  const { incoming }: { readonly incoming?: { readonly socket: Duplex } } = bindings ?? {};
  return incoming === undefined ? undefined : clientAddressOf(incoming.socket);
}
