import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import {
  type Cli,
  descendants,
  freePort,
  startCli,
  startNamespaceCli,
  untilEnded,
} from '../../local/cli.ts';

const KEY = 'SAS_KEY_VALUE';
/** A warning, not a fault: other programs may listen on the usual ports too. */
const USUAL_PORT_TAKEN = /^Port 567[12] on .+ is taken by another process.*\n/gm;

/** A namespace of `npm start` that keeps its data, with a proxy before it and an address at which clients end it. */
export interface ServedNamespace {
  /** What a client's process finds in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the server has reported as faults of its own, over all its starts. */
  faults(): string;
  stop(): Promise<void>;
}

type Ending = () => Promise<void>;

/** Starts one, or leaves nothing behind. It keeps its data and its certificate in `folder`. */
export async function serveNamespace(folder: string): Promise<ServedNamespace> {
  const endings: Ending[] = [];
  // An ending may wait for a start, which adds another ending.
  const stop = async () => {
    for (let end = endings.pop(); end !== undefined; end = endings.pop()) await end();
  };
  try {
    return { ...(await start(folder, endings)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(folder: string, endings: Ending[]): Promise<Omit<ServedNamespace, 'stop'>> {
  const place = { after: (end: Ending) => endings.push(end) };
  const certificate = join(folder, 'cert.pem');
  const port = await freePort();
  const args = ['--data', join(folder, 'data'), '--certificate', certificate, '--port', `${port}`];
  const servers: Cli[] = [];
  const startServer = async () => {
    servers.push(await startNamespaceCli(place, { args }));
  };
  await startServer();
  let restarted = Promise.resolve();
  const control = await serveControl(() => {
    restarted = kill(servers.at(-1)).then(startServer);
    return restarted;
  });
  endings.push(async () => {
    await closed(control);
    await restarted.catch(() => {});
  });
  const connectionString = `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`;
  const proxy = startCli(place, {
    command: 'proxy',
    args: ['--to', connectionString, '--port', '0', '--json'],
  });
  await proxy.untilPrinted('\n');
  return {
    environment: {
      DYNABUS_PORT: `${port}`,
      DYNABUS_CONNECTION_STRING: connectionString,
      DYNABUS_PROXY_CONNECTION_STRING: connectionStringIn(proxy.output()),
      DYNABUS_CERTIFICATE: certificate,
      DYNABUS_CONTROL: `http://127.0.0.1:${portOf(control)}`,
      SSL_CERT_FILE: certificate,
    },
    faults: () =>
      servers.map((server) => server.errors().replaceAll(USUAL_PORT_TAKEN, '')).join(''),
  };
}

/** Listens for `POST /restart`, and answers 204 when the namespace serves again, or 500 with the reason. */
async function serveControl(restart: () => Promise<void>): Promise<Server> {
  const server = createServer(async ({ method, url }, response) => {
    if (method !== 'POST' || url !== '/restart') return response.writeHead(404).end();
    try {
      await restart();
      return response.writeHead(204).end();
    } catch (error) {
      return response.writeHead(500).end(String(error));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Ends the server as a crash does: no connection is closed in good order. Its engine ends by itself. */
async function kill(server: Cli | undefined): Promise<void> {
  const below = descendants(server?.child.pid);
  server?.child.kill('SIGKILL');
  await server?.ended;
  await untilEnded(below);
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}

/** From the first line that the proxy prints as JSON. */
function connectionStringIn(output: string): string {
  const [first = ''] = output.split('\n', 1);
  return (JSON.parse(first) as { readonly connectionString: string }).connectionString;
}
