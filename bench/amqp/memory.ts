import { described, list, str } from '../../amqp/wire/value.ts';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { RawAmqp } from '../../test/support/raw-amqp.ts';
import type { ServerProcess } from '../server-process.ts';

/** The memory of the server for a thousand idle connections, bytes. */
export interface AmqpMemory {
  readonly what: string;
  readonly rss: number;
  readonly heap: number;
}

const CONNECTIONS = 1000;
const KEY_NAME = 'RootManageSharedAccessKey';
const QUEUE = 'bench-idle';
const CREDIT = 100;

/** Opens connections and compares the memory of the server before and after. */
export async function measureMemory(server: ServerProcess): Promise<readonly AmqpMemory[]> {
  const http = server.connect(1);
  await http.createQueue(QUEUE, undefined);
  // The first connections allocate what all share.
  await disconnect(await connectMany(server, 10));
  const before = await server.memory();
  const clients = await connectMany(server, CONNECTIONS);
  const connected = await server.memory();
  // One after the other, so that their first reads do not open more connections to the engine.
  for (const client of clients) {
    receive(client);
    await client.hear('attach');
  }
  const waiting = await server.memory();
  await disconnect(clients);
  await http.deleteQueue(QUEUE);
  http.close();
  const row = (what: string, usage: NodeJS.MemoryUsage): AmqpMemory => ({
    what,
    rss: usage.rss - before.rss,
    heap: usage.heapUsed - before.heapUsed,
  });
  return [row('connected, with a session', connected), row('with a waiting receiver', waiting)];
}

async function connectMany({ port }: ServerProcess, count: number): Promise<readonly RawAmqp[]> {
  const clients: RawAmqp[] = [];
  for (let i = 0; i < count; i++) {
    const client = RawAmqp.authenticated(port, KEY_NAME, PUBLIC_ROOT_KEY);
    await client.hear('begin');
    clients.push(client);
  }
  return clients;
}

function receive(client: RawAmqp): void {
  client.say({
    kind: 'attach',
    name: 'idle',
    handle: 0,
    role: 'receiver',
    source: described(0x28n, list([str(QUEUE)])),
    target: described(0x29n, list([str('idle')])),
  });
  const windows = { nextIncomingId: 0, incomingWindow: 2048, nextOutgoingId: 0, outgoingWindow: 1 };
  client.say({ kind: 'flow', ...windows, handle: 0, deliveryCount: 0, linkCredit: CREDIT });
}

async function disconnect(clients: readonly RawAmqp[]): Promise<void> {
  for (const client of clients) client.say({ kind: 'close' });
  for (const client of clients) await client.hear('ended');
}
