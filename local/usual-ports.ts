import { createServer, type Server, type Socket } from 'node:net';

/** Where AMQP clients look that are told no port: plain, and with TLS. */
const USUAL_PORTS = [5672, 5671];

/** The address that the server has already. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** A usual port that cannot be had. */
interface Refused {
  readonly port: number;
  /** The code of the system, for instance `EADDRINUSE`. */
  readonly code: string | undefined;
}

/**
 * Listens on the ports that AMQP usually has too, as far as they can be had. `warn` is told of each other
 * one, with what to do. Returns how to stop.
 */
export async function listenOnUsualPorts(
  own: OwnAddress,
  serve: (socket: Socket) => void,
  warn: (sentence: string) => void,
  usualPorts: readonly number[] = USUAL_PORTS,
): Promise<{ readonly ports: readonly number[]; close(): void }> {
  const wanted = usualPorts.filter((port) => port !== own.port);
  const servers = wanted.map(() => createServer({ allowHalfOpen: true }, serve));
  const refusals = await Promise.all(
    servers.map((server, i) => refusalOf(server, own.host, wanted[i] ?? 0)),
  );
  for (const refused of refusals) if (refused !== undefined) warn(refusedPort(refused, own));
  return {
    ports: wanted.filter((_, i) => refusals[i] === undefined),
    close: () => {
      for (const [i, server] of servers.entries()) if (refusals[i] === undefined) server.close();
    },
  };
}

/** Listens; resolves with why that is not possible. */
function refusalOf(server: Server, host: string, port: number): Promise<Refused | undefined> {
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve({ port, code }));
    server.listen(port, host, () => resolve(undefined));
  });
}

/** What users are told of a usual port that cannot be had. */
export function refusedPort({ port, code }: Refused, own: OwnAddress): string {
  const [reason, remedy] =
    code === 'EADDRINUSE'
      ? ['is taken by another process', `stop what listens on ${port} and start again`]
      : [`cannot be listened on (${code})`, `make port ${port} usable and start again`];
  return `Port ${port} on ${own.host} ${reason}, so AMQP clients that name no port do not reach this server. AMQP works on port ${own.port}: name it in the address of the client, or ${remedy}.`;
}
