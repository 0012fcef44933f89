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

/** Sends a body to a queue whose largest message is this, kilobytes; returns how many requests sent something. */
async function sendsOf(bodyBytes: number, maxMessageSizeInKilobytes: number): Promise<number> {
  let sends = 0;
  const caller = {
    call: async ({ method }: Call) => {
      if (method === 'POST') sends++;
      const text = JSON.stringify({ kind: 'queue', maxMessageSizeInKilobytes });
      return { status: 200, header: () => undefined, text, bytes: Buffer.from(text) };
    },
  };
  const scheduler = new ManualScheduler();
  const entities = new RemoteEntities(caller, scheduler);
  const sending = new RemoteSending({
    caller,
    entities,
    random: realRandom,
    scheduler,
    sendsOnce: false,
  });
  await sending.send(parseEntityPath('q'), [{ body: Buffer.alloc(bodyBytes), properties: {} }]);
  return sends;
}

test('a message that no answer can carry is not sent', async () => {
  const functions = LIMITS.answeredMessageBytes / 1024;
  assert.equal(await sendsOf(LIMITS.answeredMessageBytes - 1024, functions), 1);
  const refusal = { code: 'MessageSizeExceeded', message: /Use the tables or the gateway/ };
  await assert.rejects(sendsOf(LIMITS.answeredMessageBytes + 1, functions), refusal);
  assert.equal(await sendsOf(LIMITS.answeredMessageBytes + 1, 2 * functions), 1);
});
