import { randomBytes } from 'node:crypto';
import { type BodySet, intoCalls } from './bodies.ts';
import {
  type Costs,
  type CountingNamespace,
  cycle,
  type Operation,
  type OperationCost,
  perMessage,
} from './counted-units.ts';
import { prepareSend } from './http-client.ts';

/** Batches that are sent, received and settled for one row. */
const ROUNDS = 4;

/** Counts the cost of messages that are sent, received and settled in batches of one size. */
export async function countQueue(
  { http, counted, setAddedLatency }: CountingNamespace,
  { bodies, isReal, messageKilobytesMax }: BodySet,
  batch: number,
): Promise<Costs> {
  setAddedLatency(batch === 1 ? 'single' : 'batch');
  const queue = `q-${randomBytes(6).toString('hex')}`;
  await http.createQueue(queue, messageKilobytesMax);
  // Reads the description of the queue, because a function reads it every other second, not for each call.
  await http.receive(queue, batch);
  // Real bodies differ, so all of them are measured; a few generated ones are enough.
  const rounds = isReal ? Number.POSITIVE_INFINITY : ROUNDS;
  const chosen = cycle(bodies, Math.max(batch, Math.min(bodies.length, rounds * batch)));
  const costs: Record<Operation, OperationCost[]> = { send: [], receive: [], settle: [] };
  for (const call of intoCalls(chosen, batch)) {
    const prepared = prepareSend(call, batch > 1);
    costs.send.push((await counted(() => http.send(queue, prepared))).cost);
  }
  for (let left = chosen.length; left > 0; ) {
    const { answer, cost } = await counted(() => http.receive(queue, batch));
    const { locks, firstBody } = answer;
    if (!bodies.some((body) => body.equals(firstBody))) throw new Error('Another body came out.');
    costs.receive.push(cost);
    costs.settle.push((await counted(() => http.complete(queue, locks))).cost);
    left -= locks.length;
  }
  await http.deleteQueue(queue);
  return {
    send: perMessage(costs.send, chosen.length),
    receive: perMessage(costs.receive, chosen.length),
    settle: perMessage(costs.settle, chosen.length),
  };
}
