import { createServer, type Server, type Socket } from 'node:net';

/** Where AMQP clients look that are told no port: plain, and with TLS. */
const USUAL_PORTS = [5672, 5671];

/** Listens on the ports that AMQP usually has too, as far as they are free. Returns how to stop. */
export async function listenOnUsualPorts(
  host: string,
  serve: (socket: Socket) => void,
): Promise<{ readonly ports: readonly number[]; close(): void }> {
  const servers = new Map<number, Server>();
  await Promise.all(
    USUAL_PORTS.map(async (port) => {
      const server = createServer({ allowHalfOpen: true }, serve);
      if (await isListening(server, host, port)) servers.set(port, server);
    }),
  );
  return {
    ports: USUAL_PORTS.filter((port) => servers.has(port)),
    close: () => {
      for (const server of servers.values()) server.close();
    },
  };
}

function isListening(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, host, () => resolve(true));
  });
}
