import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { ask, message, Q, startProcess } from '../support/composed-process.ts';
import { hookedClient } from '../support/hooked-client.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Two processes move messages of one block, and one of them hears nothing of its transaction. */

const DEAD = parseEntityPath('q/$deadletterqueue');
/** Two of them are too large for a block, which refers to its payload; so does the block to which both move. */
const BODY_BYTES = 4000;

for (const others of ['the first message', 'both messages, one after the other'] as const) {
  test(`a move that was not carried out is not taken for done because another process moved ${others}`, async (t) => {
    let isLost = false;
    let meanwhile = async () => {};
    const client = hookedClient(async ({ command }) => {
      if (command !== 'TransactWriteItemsCommand' || !isLost) return;
      const work = meanwhile;
      meanwhile = async () => {};
      await work();
      throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' });
    });
    t.after(() => client.destroy());
    const clock = new ManualClock();
    const here = await startProcess(t, { client, clock });
    const there = await startProcess(t, { clock, namespace: here.namespace });
    await here.management.create('q', { kind: 'queue', lockMs: 30_000 });
    const bodies = ['a', 'b'].map((name) => name + randomBytes(BODY_BYTES / 2).toString('hex'));
    await here.broker.send(
      Q,
      bodies.map((body) => message(body)),
    );
    const received = await here.broker.receive(Q, ask({ maxMessages: 2 }));
    // Different reasons, so that each message gets a block of its own.
    const settlements = received.map((one, i) => ({
      lockToken: 'lockToken' in one ? one.lockToken : '',
      action: { kind: 'deadLetter', reason: `because ${i}`, properties: {} } as const,
    }));
    const [first, second] = settlements;
    assert.ok(first !== undefined && second !== undefined);
    const moved = others === 'the first message' ? [first] : [first, second];
    const outcomes: { readonly refusal?: Error | undefined }[] = [];
    meanwhile = async () => {
      for (const one of moved) outcomes.push(...(await there.broker.settle(Q, [one])));
    };
    isLost = true;
    const told = await here.broker.settle(Q, settlements);
    isLost = false;
    assert.deepEqual(
      outcomes.map(({ refusal }) => refusal),
      moved.map(() => undefined),
    );
    // Not "done": nothing of this was written.
    assert.deepEqual(
      told.map(({ refusal }) => refusal?.code),
      ['ServiceTimeout', 'ServiceTimeout'],
    );
    clock.advance({ seconds: 31 });
    const left = [
      ...(await there.broker.receive(Q, ask({ maxMessages: 2 }))),
      ...(await there.broker.receive(DEAD, ask({ maxMessages: 2 }))),
    ];
    assert.deepEqual(left.map((one) => Buffer.from(one.message.body).toString()).sort(), bodies);
  });
}
