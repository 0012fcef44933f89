import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AgeClock } from '../../shared/domain/age.ts';
import type { Block } from '../../shared/domain/blocks/block.ts';
import { lockTag } from '../../shared/domain/blocks/lock-token.ts';
import { Choice } from '../../shared/storage/claim/choice.ts';
import { ScanHints } from '../../shared/storage/hints/scan-hints.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { engineClient, startBroker } from '../support/start-broker.ts';

/** Row 12: the reads of receivers are bounded, however many they are and however many messages are locked. */

test('row 12: concurrent receivers of one queue do not each read the whole queue', async (t) => {
  const RECEIVERS = 24;
  const MESSAGES = 120;
  let blocks = 0;
  const client = engineClient();
  t.after(() => client.destroy());
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const answer = await next(args);
        const { Items = [] } = answer.output as { Items?: readonly unknown[] };
        if (commandName === 'QueryCommand') blocks += Items.length;
        return answer;
      },
    { step: 'initialize', name: 'count' },
  );
  const bus = await startBroker(t, { client });
  await bus.createQueue('q');
  for (let i = 0; i < MESSAGES; i++) await bus.send('q', 'x');
  blocks = 0;
  const received = await Promise.all(
    Array.from({ length: RECEIVERS }, () => bus.peekLockMany('q', MESSAGES)),
  );
  assert.equal(received.flat().length, MESSAGES);
  assert.ok(blocks < 2 * MESSAGES, `${blocks} blocks were read`);
});

test('row 12: a receive retains no locked blocks in front of its messages', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const BLOCKS = 1000;
  const clock = new ManualClock();
  const now = clock.now();
  const tag = lockTag(1, new Uint8Array(6));
  const scanHints = new ScanHints(new AgeClock(clock, () => 0), true);
  const log = { entity: 'q', epoch: 1, partition: 0, generation: 0, subQueue: 'main' };
  const rules = { epoch: 1, isDeadLetter: false, maxDeliveryCount: 10 };
  const request = { maxMessages: 1, maxBytes: 1000, rules, width: 1 };
  const choice = new Choice({ scanHints } as never, log as never, request, now);
  const kept: WeakRef<Block>[] = [];
  const consider = (sequence: number, heldUntil: number | undefined) => {
    const slot = { deliveries: 0, ...(heldUntil === undefined ? {} : { heldUntil, tag }) };
    const block: Block = {
      section: 'live',
      sequence: BigInt(sequence),
      enqueuedAt: now,
      slots: new Map([[0, slot]]),
      payload: { parts: 0, offset: 0, bytes: 10 },
    };
    kept.push(new WeakRef(block));
    choice.consider(block);
  };
  for (let sequence = 1; sequence <= BLOCKS; sequence++) consider(sequence, now + sequence);
  consider(BLOCKS + 1, undefined);
  // A weak reference keeps its target alive to the end of the job that created it.
  await new Promise(setImmediate);
  collectGarbage();
  assert.equal(kept.filter((block) => block.deref() !== undefined).length, 1);
  const watch = scanHints.beginScan('q');
  const { targets } = choice.result(undefined, watch);
  watch.end();
  assert.deepEqual(
    targets.map(({ block }) => block.sequence),
    [BigInt(BLOCKS + 1)],
  );
});
