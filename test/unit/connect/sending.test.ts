import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../../connect/https/calls/caller.ts';
import { RemoteEntities } from '../../../connect/https/entities.ts';
import { RemoteSending } from '../../../connect/https/messages/sending.ts';
import { realRandom } from '../../../shared/app/real-random.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

/** What is sent over HTTP. */

const NOW = 1_000_000;
const PATH = parseEntityPath('q');

/** A queue whose largest message is this, kilobytes, and the paths of the requests that send to it. */
function start(maxMessageSizeInKilobytes: number) {
  const sends: string[] = [];
  const caller = {
    call: async ({ method, path }: Call) => {
      if (method === 'POST') sends.push(path);
      const facts = { kind: 'queue', maxMessageSizeInKilobytes, sequenceNumbers: [1] };
      const text = JSON.stringify(facts);
      return { status: 200, header: () => undefined, text, bytes: Buffer.from(text) };
    },
  };
  const scheduler = new ManualScheduler();
  const sending = new RemoteSending({
    caller,
    entities: new RemoteEntities(caller, scheduler),
    clock: { now: () => NOW },
    random: realRandom,
    scheduler,
    sendsOnce: false,
  });
  return { sends, sending, scheduler };
}

/** Sends a body; returns how many requests sent something. */
async function sendsOf(bodyBytes: number, maxMessageSizeInKilobytes: number): Promise<number> {
  const { sends, sending } = start(maxMessageSizeInKilobytes);
  await sending.send(PATH, [{ body: Buffer.alloc(bodyBytes), properties: {} }]);
  return sends.length;
}

test('a message that no answer can carry is not sent', async () => {
  const functions = LIMITS.answeredMessageBytes / 1024;
  assert.equal(await sendsOf(LIMITS.answeredMessageBytes - 1024, functions), 1);
  const refusal = { code: 'MessageSizeExceeded', message: /Use the tables or the gateway/ };
  await assert.rejects(sendsOf(LIMITS.answeredMessageBytes + 1, functions), refusal);
  assert.equal(await sendsOf(LIMITS.answeredMessageBytes + 1, 2 * functions), 1);
});

for (const [what, scheduledEnqueueAt, orderedBy, path] of [
  ['is due already, in an order', NOW, {}, 'q/messages'],
  ['is due later, in an order', NOW + 1, {}, 'q/messages/$schedule'],
  ['is due already, for a client that wants its number', NOW, undefined, 'q/messages/$schedule'],
] as const) {
  test(`a message that ${what}, is sent to ${path}`, async () => {
    const { sends, sending, scheduler } = start(256);
    const message = { body: Buffer.alloc(1), properties: {}, scheduledEnqueueAt };
    const sent = sending.send(PATH, [message], orderedBy && { orderedBy });
    await scheduler.pass(1);
    await sent;
    assert.deepEqual(sends, [path]);
  });
}
