import { createServer, type Server, type Socket } from 'node:net';

/** The default ports of AMQP, which clients use if their address names no port: plain, and with TLS. */
const DEFAULT_PORTS = [5672, 5671];

/** The address on which the server listens already. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** A default port on which the server cannot listen. */
interface RefusedPort {
  readonly port: number;
  /** The system's error code, for example `EADDRINUSE`. */
  readonly code: string | undefined;
}

/**
 * Listens on the default ports of AMQP, too, and passes their connections to `serve`. For each port that is not
 * available, `warn` receives a sentence with the reason and the remedy. Resolves with the ports in use and a
 * function that closes them.
 */
export async function listenOnDefaultPorts(
  own: OwnAddress,
  serve: (socket: Socket) => void,
  warn: (sentence: string) => void,
  defaultPorts: readonly number[] = DEFAULT_PORTS,
): Promise<{ readonly ports: readonly number[]; close(): void }> {
  const wanted = defaultPorts.filter((port) => port !== own.port);
  const servers = wanted.map(() => createServer({ allowHalfOpen: true }, serve));
  const refusals = await Promise.all(
    servers.map((server, i) => tryListen(server, own.host, wanted[i] ?? 0)),
  );
  for (const refused of refusals) if (refused !== undefined) warn(refusedPortWarning(refused, own));
  return {
    ports: wanted.filter((_, i) => refusals[i] === undefined),
    close: () => {
      for (const [i, server] of servers.entries()) if (refusals[i] === undefined) server.close();
    },
  };
}

/** Listens on a port. Resolves with the refusal if that fails. */
function tryListen(server: Server, host: string, port: number): Promise<RefusedPort | undefined> {
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve({ port, code }));
    server.listen(port, host, () => resolve(undefined));
  });
}

/** The warning about a default port on which the server cannot listen. */
export function refusedPortWarning({ port, code }: RefusedPort, own: OwnAddress): string {
  const [reason, remedy] =
    code === 'EADDRINUSE'
      ? ['is taken by another process', `stop what listens on ${port} and start again`]
      : [`is not available (${code})`, `make port ${port} usable and start again`];
  return `Port ${port} on ${own.host} ${reason}, so AMQP clients that name no port do not reach this server. AMQP works on port ${own.port}: name it in the address of the client, or ${remedy}.`;
}
