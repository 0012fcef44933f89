import { type BodySet, intoCalls } from './bodies.ts';
import { cycle } from './counted-units.ts';
import { type BenchClient, type Lock, prepareSend } from './http-client.ts';
import type { ServerProcess } from './server-process.ts';

/** Messages a second over HTTP, of all clients together. */
export interface Rates {
  readonly clients: number;
  readonly sent: number;
  /** A receive, then a settlement, as two calls. */
  readonly receivedAndSettled: number;
  /** Each call settles the messages of the call before, and receives further ones. */
  readonly inOneCall: number;
}

const CLIENTS_SINGLE = 32;
const CLIENTS_BATCH = 4;
/** Bounds the memory of the engine. */
const SENT_BYTES_MAX = 64 * 1024 * 1024;

let queues = 0;

/** Measures messages a second through a new queue. */
export async function measureRates(
  server: ServerProcess,
  set: BodySet,
  batch: number,
  ms: number,
): Promise<Rates> {
  const clients = batch === 1 ? CLIENTS_SINGLE : CLIENTS_BATCH;
  const http = server.connect(clients);
  const rates = await measure({ http, queue: `bench-${queues++}`, set, batch, clients, ms });
  http.close();
  return rates;
}

/** The load of one measurement. */
export interface Load {
  readonly http: BenchClient;
  /** A queue, or a topic to send to. */
  readonly queue: string;
  readonly set: BodySet;
  readonly batch: number;
  readonly clients: number;
  readonly ms: number;
}

async function measure(load: Load): Promise<Rates> {
  const { http, queue, set, clients } = load;
  await http.createQueue(queue, set.messageKilobytesMax);
  const sent = await measureSend(load);
  const receivedAndSettled = await measureReceive(load);
  // Too few messages may be left for another measurement.
  await measureSend(load);
  const inOneCall = await measureOneCall(load);
  await http.deleteQueue(queue);
  return { clients, sent, receivedAndSettled, inOneCall };
}

/** Runs the calls of all clients until each of them has returned 0 messages, or the time is over. */
export async function perSecond(
  { clients, ms }: Pick<Load, 'clients' | 'ms'>,
  client: () => () => Promise<number>,
): Promise<number> {
  let messages = 0;
  const begun = performance.now();
  const run = async () => {
    const call = client();
    while (performance.now() - begun < ms) {
      const done = await call();
      if (done === 0) return;
      messages += done;
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return messages / ((performance.now() - begun) / 1000);
}

/** Measures messages a second that are sent. */
export function measureSend(load: Load): Promise<number> {
  const { http, queue, set, batch } = load;
  const bodies = cycle(set.bodies, Math.max(batch, set.bodies.length));
  const calls = intoCalls(bodies, batch).map((call) => ({
    prepared: prepareSend(call, batch > 1),
    messages: call.length,
  }));
  let next = 0;
  let bytes = 0;
  return perSecond(load, () => async () => {
    const call = calls[next++ % calls.length];
    if (call === undefined || bytes > SENT_BYTES_MAX) return 0;
    bytes += call.prepared.body.length;
    await http.send(queue, call.prepared);
    return call.messages;
  });
}

/** Measures messages a second that are received and then completed. */
export function measureReceive(load: Load): Promise<number> {
  const { http, queue, batch } = load;
  return perSecond(load, () => async () => {
    const { locks } = await http.receive(queue, batch);
    if (locks.length > 0) await http.complete(queue, locks);
    return locks.length;
  });
}

function measureOneCall(load: Load): Promise<number> {
  const { http, queue, batch } = load;
  return perSecond(load, () => {
    let held: readonly Lock[] = [];
    return async () => {
      const { locks } = await http.completeAndReceive(queue, held, batch);
      held = locks;
      return locks.length;
    };
  });
}
