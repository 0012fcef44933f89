import { described, list, str } from '../../amqp/wire/value.ts';
import { RawAmqp } from '../../test/support/raw-amqp.ts';
import type { IdlePlan } from './idle.ts';

/** A process with receivers that wait, so that their work does not count as the server's. */

/** Before the server closes a connection that is silent. */
const HEARTBEAT_MS = 20_000;
const EMPTY_FRAME = Buffer.from([0, 0, 0, 8, 2, 0, 0, 0]);
const CREDIT = 10;

const [text = ''] = process.argv.slice(2);
const plan = JSON.parse(text) as IdlePlan & { readonly port: number; readonly key: string };
const clients: RawAmqp[] = [];
for (let first = 0; first < plan.receivers; first += plan.linksPerConnection) {
  const client = RawAmqp.authenticated(plan.port, 'RootManageSharedAccessKey', plan.key);
  await client.hear('begin');
  const end = Math.min(first + plan.linksPerConnection, plan.receivers);
  for (let i = first; i < end; i++) await receive(client, i - first, `idle-${i % plan.queues}`);
  clients.push(client);
}
setInterval(() => {
  for (const client of clients) client.write(EMPTY_FRAME);
}, HEARTBEAT_MS);
process.send?.('waiting');

async function receive(client: RawAmqp, handle: number, queue: string): Promise<void> {
  client.say({
    kind: 'attach',
    name: `idle-${handle}`,
    handle,
    role: 'receiver',
    source: described(0x28n, list([str(queue)])),
    target: described(0x29n, list([str('idle')])),
  });
  const windows = { nextIncomingId: 0, incomingWindow: 2048, nextOutgoingId: 0, outgoingWindow: 1 };
  client.say({ kind: 'flow', ...windows, handle, deliveryCount: 0, linkCredit: CREDIT });
  await client.hear('attach');
}
