const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** What a load balancer writes before the bytes of a client: a PROXY header of version 2. */
export function proxyHeader(client: string, extra: Uint8Array = new Uint8Array()): Buffer {
  const ports = Buffer.from([0xc3, 0x50, 0x16, 0x28]);
  const addresses = Buffer.concat([version4(client), version4('10.0.0.4'), ports, extra]);
  return proxyHeaderOf(0x21, 0x11, addresses);
}

/** The header of a load balancer that speaks for itself. */
export function localHeader(): Buffer {
  return proxyHeaderOf(0x20, 0x00, new Uint8Array());
}

/** Any header, well-formed or not. */
export function proxyHeaderOf(command: number, family: number, rest: Uint8Array): Buffer {
  const length = Buffer.from([rest.byteLength >> 8, rest.byteLength & 0xff]);
  return Buffer.concat([SIGNATURE, Buffer.from([command, family]), length, rest]);
}

function version4(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number));
}
