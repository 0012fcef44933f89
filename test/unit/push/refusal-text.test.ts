import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswer } from '../../../lambdas/push/answer/read-answer.ts';
import { httpTargets } from '../../../local/push/http-target.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';
import { consumer, FACTS, NOW, numbered } from './batches.ts';
import { listen } from './http-server.ts';

test('what an address answers writes nothing into the terminal of the server but its text', async (t) => {
  const { url } = await listen(t, (response) => {
    response.writeHead(500).end('\u001b[2J\u001b]0;title\u0007first\r\nsecond\u009b');
  });
  const targets = httpTargets({
    scheduler: new ManualScheduler(),
    clock: { now: () => NOW },
    origin: FACTS,
  });
  const reply = await targets.call({ ...numbered(7), consumer: consumer({ target: url }) });
  assert.deepEqual(reply, {
    kind: 'failed',
    error: 'The target answered with 500:  [2J ]0;title first second ',
  });
});

test('nor does the id of a message that it makes up', () => {
  const item = { itemIdentifier: '\u001b[2J' };
  const bytes = Buffer.from(JSON.stringify({ batchItemFailures: [item] }));
  assert.deepEqual(readAnswer(bytes, numbered(7)), {
    kind: 'failed',
    error: "The itemIdentifier ' [2J' is the messageId of no record of the event.",
  });
});
