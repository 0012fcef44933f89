import { BUDGETS } from '../shared/domain/budgets/budgets.ts';

/** The result of reading the first bytes of a connection from a load balancer. */
export type ProxyHeader =
  /** More bytes are needed. */
  | { readonly kind: 'incomplete' }
  /** The bytes are not the start of a header. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed' }
  /** `client` is absent in a connection of the load balancer's own, such as a health check. */
  | { readonly kind: 'whole'; readonly bytes: number; readonly client?: string };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const FIXED_BYTES = SIGNATURE.byteLength + 4;
const VERSION_AND_COMMAND = { local: 0x20, proxy: 0x21 } as const;
/** Address family and transport: TCP over IPv4 or IPv6, or unspecified. */
const FAMILY = { unspecified: 0x00, tcp4: 0x11, tcp6: 0x21 } as const;
/** Two addresses and two ports. */
const ADDRESSES_BYTES = { tcp4: 12, tcp6: 36 } as const;

/**
 * Reads a header of the PROXY protocol, version 2, which names the client of a connection that a load balancer
 * forwards. Ignores what follows the addresses.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const begin = Math.min(bytes.byteLength, SIGNATURE.byteLength);
  if (!bytes.subarray(0, begin).equals(SIGNATURE.subarray(0, begin))) return { kind: 'absent' };
  if (bytes.byteLength < FIXED_BYTES) return { kind: 'incomplete' };
  const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2);
  if (length > BUDGETS.address.proxyHeaderBytes) return { kind: 'malformed' };
  if (bytes.byteLength < length) return { kind: 'incomplete' };
  const [command, family] = [bytes[SIGNATURE.byteLength], bytes[SIGNATURE.byteLength + 1]];
  if (command === VERSION_AND_COMMAND.local) return { kind: 'whole', bytes: length };
  if (command !== VERSION_AND_COMMAND.proxy) return { kind: 'malformed' };
  const addresses = bytes.subarray(FIXED_BYTES, length);
  switch (family) {
    case FAMILY.unspecified:
      return { kind: 'whole', bytes: length };
    case FAMILY.tcp4:
      if (addresses.byteLength < ADDRESSES_BYTES.tcp4) return { kind: 'malformed' };
      return { kind: 'whole', bytes: length, client: addresses.subarray(0, 4).join('.') };
    case FAMILY.tcp6:
      if (addresses.byteLength < ADDRESSES_BYTES.tcp6) return { kind: 'malformed' };
      return { kind: 'whole', bytes: length, client: textOf(addresses.subarray(0, 16)) };
    default:
      return { kind: 'malformed' };
  }
}

/** An IPv6 address in full form; an IPv4-mapped address as IPv4. */
function textOf(address: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => address.readUInt16BE(2 * index));
  const isVersion4 = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isVersion4) return address.subarray(12).join('.');
  return groups.map((group) => group.toString(16)).join(':');
}
