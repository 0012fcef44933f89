import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startEngine } from '../../local/engine/engine.ts';
import {
  PUSH_FUNCTION,
  type PushedStage,
  startPushed,
  WAKE_FUNCTION,
} from '../../test/support/push/push-stage.ts';
import { bodiesOf } from '../../test/support/push/target-function.ts';

/** What a message takes from its send to its end; the counts are those of one message. */
export interface PushRow {
  /** Messages that are sent, and pushed, at once. */
  readonly batch: number;
  /** How long the target works on a batch, ms. */
  readonly targetMs: number;
  readonly read: number;
  readonly write: number;
  /** Invocations of the functions that wake, and that push, and of the target. */
  readonly invocations: number;
  /** Time of the functions that wake and push, ms. */
  readonly wakeMs: number;
  readonly pushMs: number;
  /** From the send to the handler, ms; the median. */
  readonly latencyMs: number;
}

const BATCHES = [1, 10, 100] as const;
const TARGET_MS = [0, 100, 1000] as const;
const ROUNDS = { full: 10, quick: 3 } as const;

/** Counts what pushed messages cost, in a stage whose functions run from their bundles. */
export async function measurePush(
  kind: string | undefined,
  isQuick: boolean,
): Promise<readonly PushRow[]> {
  const engine = await startEngine({ kind });
  process.env['DYNAMODB_ENDPOINT'] = engine.endpoint;
  const rows: PushRow[] = [];
  try {
    for (const batch of BATCHES) {
      const ends: (() => unknown)[] = [];
      // What a stage asks of a test.
      const context = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext;
      const stage = await startPushed(context, { consumer: { maxBatch: batch } });
      for (const targetMs of TARGET_MS) {
        console.log(`Pushing ${batch} at once to a target that takes ${targetMs} ms`);
        const rounds = ROUNDS[isQuick ? 'quick' : 'full'];
        rows.push({ batch, targetMs, ...(await measure(stage, { batch, targetMs, rounds })) });
      }
      for (const end of ends) await end();
    }
  } finally {
    await engine.stop();
  }
  return rows;
}

interface Plan {
  readonly batch: number;
  readonly targetMs: number;
  readonly rounds: number;
}

async function measure(stage: PushedStage, { batch, targetMs, rounds }: Plan) {
  const { broker, lambda, target, relays, settled } = stage;
  target.answer = async () => await delay(targetMs);
  const messages = Array.from({ length: batch }, (_, i) => ({ Body: `${i}`.padEnd(200, '.') }));
  const latencies: number[] = [];
  const round = async () => {
    const before = bodiesOf(target.calls).length;
    const calls = target.calls.length;
    const sentAt = performance.now();
    await broker.sendBatch('q', messages);
    await lambda.until('all are pushed', () => bodiesOf(target.calls).length >= before + batch);
    await settled();
    latencies.push((target.calls[calls]?.at ?? sentAt) - sentAt);
  };
  // What a process remembers from then on is not read again.
  await round();
  for (const relay of Object.values(relays)) relay.take();
  const invoked = lambda.invocations.length;
  latencies.length = 0;
  for (let count = 0; count < rounds; count++) await round();
  const units = Object.values(relays).map((relay) => relay.take());
  const all = lambda.invocations.slice(invoked);
  const pushed = rounds * batch;
  const msOf = (name: string) =>
    all
      .filter(({ functionName }) => functionName === name)
      .reduce((sum, { startedAt, endedAt = startedAt }) => sum + endedAt - startedAt, 0) / pushed;
  return {
    read: units.reduce((sum, { read }) => sum + read, 0) / pushed,
    write: units.reduce((sum, { write }) => sum + write, 0) / pushed,
    invocations: all.length / pushed,
    wakeMs: msOf(WAKE_FUNCTION),
    pushMs: msOf(PUSH_FUNCTION),
    latencyMs: latencies.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0,
  };
}
