import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BatchProcessor,
  EventType,
  processPartialResponse,
  processPartialResponseSync,
  SqsFifoPartialProcessor,
} from '@aws-lambda-powertools/batch';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { readAnswer } from '../../../lambdas/push/answer/read-answer.ts';
import { printEvent } from '../../../lambdas/push/event/print-event.ts';
import type { Batch, Failure } from '../../../shared/push/ports.ts';
import { batch, FACTS, locked } from './batches.ts';

/** Handlers that use Powertools for AWS Lambda take an event as one of SQS, and answer so that it is understood. */

const BODIES = ['1', 'broken', '3', '4'];

const eventOf = (pushed: Batch): SQSEvent => JSON.parse(printEvent(pushed, FACTS) ?? 'null');

const abandoned = (...numbers: readonly bigint[]): readonly Failure[] =>
  numbers.map((sequenceNumber) => ({ sequenceNumber, action: { kind: 'abandon' } }));

function batchOf(bodies: readonly string[], changes: Partial<Batch> = {}): Batch {
  const messages = bodies.map((body, i) =>
    locked({ body: Buffer.from(body) }, { sequenceNumber: BigInt(i + 1) }),
  );
  return batch(messages, changes);
}

/** Fails for a body that is no JSON. */
function handle({ body }: SQSRecord): void {
  JSON.parse(body);
}

const bytesOf = (answer: unknown): Uint8Array => Buffer.from(JSON.stringify(answer));

test('a batch processor reports the messages that failed', async () => {
  const pushed = batchOf(BODIES);
  const answer = await processPartialResponse(
    eventOf(pushed),
    (record: SQSRecord) => Promise.resolve(handle(record)),
    new BatchProcessor(EventType.SQS),
  );
  assert.deepEqual(readAnswer(bytesOf(answer), pushed), {
    kind: 'answered',
    failures: abandoned(2n),
  });
});

test('a batch processor reports none if none failed', async () => {
  const pushed = batchOf(['1', '2']);
  const answer = await processPartialResponse(
    eventOf(pushed),
    (record: SQSRecord) => Promise.resolve(handle(record)),
    new BatchProcessor(EventType.SQS),
  );
  assert.deepEqual(readAnswer(bytesOf(answer), pushed), { kind: 'answered', failures: [] });
});

test('the processor of FIFO queues reports the first message of a session that failed and all after it', () => {
  const pushed = batchOf(BODIES, { sessionId: 'cart-1' });
  const answer = processPartialResponseSync(eventOf(pushed), handle, new SqsFifoPartialProcessor());
  assert.deepEqual(readAnswer(bytesOf(answer), pushed), {
    kind: 'answered',
    failures: abandoned(2n, 3n, 4n),
  });
});

test('the processor of FIFO queues takes a session for a message group', () => {
  const pushed = batchOf(BODIES, { sessionId: 'cart-1' });
  const answer = processPartialResponseSync(
    eventOf(pushed),
    handle,
    new SqsFifoPartialProcessor(),
    { skipGroupOnError: true },
  );
  assert.deepEqual(readAnswer(bytesOf(answer), pushed), {
    kind: 'answered',
    failures: abandoned(2n, 3n, 4n),
  });
});
