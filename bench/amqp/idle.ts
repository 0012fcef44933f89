import { setTimeout as delay } from 'node:timers/promises';
import { ServiceBusClient } from '@azure/service-bus';
import type { CountingNamespace } from '../counted-units.ts';

/** The requests to the database of receivers on one idle queue, in an hour. */
export interface AmqpIdle {
  readonly receivers: number;
  readonly requests: number;
}

const QUEUE = 'q-idle';
const RECEIVERS = [1, 100] as const;
const HOUR_MS = 3_600_000;

/** Lets receivers wait; counts once their interval between two reads has reached its maximum. */
export async function measureIdle(
  { http, connectionString, counted, setAddedLatency }: CountingNamespace,
  { settleMs, ms }: { readonly settleMs: number; readonly ms: number },
): Promise<readonly AmqpIdle[]> {
  setAddedLatency('none');
  await http.createQueue(QUEUE, undefined);
  const rows: AmqpIdle[] = [];
  for (const receivers of RECEIVERS) {
    const client = new ServiceBusClient(connectionString);
    for (let i = 0; i < receivers; i++) {
      const never = async () => {};
      client.createReceiver(QUEUE).subscribe({ processMessage: never, processError: never });
    }
    await delay(settleMs);
    const { cost } = await counted(() => delay(ms));
    rows.push({ receivers, requests: (cost.requests * HOUR_MS) / ms });
    await client.close();
  }
  await http.deleteQueue(QUEUE);
  return rows;
}
