import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_BYTES_MAX, printEvent } from '../../../lambdas/push/event/print-event.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import { batch, FACTS, locked } from './batches.ts';

const MB = 1024 * 1024;

const byteLength = (text: string | undefined): number => Buffer.byteLength(text ?? '');

const sized = (bytes: number, sequenceNumber: bigint): LockedMessage =>
  locked({ body: Buffer.alloc(bytes, 'a') }, { sequenceNumber });

test('an event is as long as Lambda takes and no longer', () => {
  const room = EVENT_BYTES_MAX - byteLength(printEvent(batch([sized(0, 1n)]), FACTS));
  const full = printEvent(batch([sized(room, 1n)]), FACTS);
  assert.equal(byteLength(full), EVENT_BYTES_MAX);
  assert.ok(EVENT_BYTES_MAX < 6_291_456);
  assert.equal(printEvent(batch([sized(room + 1, 1n)]), FACTS), undefined);
});

test('a text of control characters that would be too long is base64', () => {
  const message = locked({ body: Buffer.alloc(2 * MB, 0) });
  const [record] = JSON.parse(printEvent(batch([message]), FACTS) ?? '{}').Records;
  assert.equal(record.isBase64Encoded, true);
  assert.equal(Buffer.from(record.body, 'base64').length, 2 * MB);
});
