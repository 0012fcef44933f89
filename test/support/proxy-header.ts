const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** The PROXY header (version 2) that a load balancer writes before the bytes of a client. */
export function proxyHeader(client: string, extra: Uint8Array = new Uint8Array()): Buffer {
  const ports = Buffer.from([0xc3, 0x50, 0x16, 0x28]);
  const addresses = Buffer.concat([version4(client), version4('10.0.0.4'), ports, extra]);
  return proxyHeaderOf(0x21, 0x11, addresses);
}

/** The header of a load balancer's own connection, such as a health check. */
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
