import type { Duplex } from 'node:stream';

/** Addresses by socket, also by sockets inside TLS. */
const ADDRESSES = new WeakMap<Duplex, string>();

/** Stores the address of a client that is connected through a load balancer. */
export function noteClientAddress(socket: Duplex, address: string): void {
  ADDRESSES.set(socket, address);
}

/** The address of a client as the load balancer gave it; undefined without a load balancer. */
export function clientAddressOf(socket: Duplex): string | undefined {
  return ADDRESSES.get(socket);
}

/** The same for a request; `bindings` = the second argument that the HTTP server passes to an app. */
export function clientOf(bindings: object | undefined): string | undefined {
  const { incoming }: { readonly incoming?: { readonly socket: Duplex } } = bindings ?? {};
  return incoming === undefined ? undefined : clientAddressOf(incoming.socket);
}
