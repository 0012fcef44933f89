import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { FRESH_SLOT } from '../../../shared/domain/blocks/slot.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { brotli } from '../../../shared/storage/blocks/compression.ts';
import { encodeMessages } from '../../../shared/storage/blocks/message-codec.ts';
import { loadMessages } from '../../../shared/storage/blocks/payloads.ts';
import type { Table } from '../../../shared/storage/dynamodb/table.ts';

const LOG = { entityId: 'q', partition: 0 } as Log;
const REFERENCE = 'payload';

function messageWith(properties: number): Message {
  const named = Array.from({ length: properties }, (_, i) => [`p${i}`, { type: 'int', value: i }]);
  return { messageId: 'm', body: new Uint8Array(), properties: Object.fromEntries(named) };
}

/** How often a payload of messages with so many properties is read, if its block is loaded three times. */
async function readsOf(...properties: readonly number[]): Promise<number> {
  const messages = properties.map(messageWith);
  const encoded = await encodeMessages(messages, brotli);
  const block: Block = {
    section: 'live',
    sequence: 1n,
    enqueuedAt: 0,
    slots: new Map(messages.map((_, slot) => [slot, FRESH_SLOT])),
    payload: { reference: REFERENCE, parts: 1, offset: 0, bytes: encoded.byteLength },
  };
  let reads = 0;
  const getMany: Table['getMany'] = async () => {
    reads++;
    return [{ sk: { S: `${REFERENCE}.0` }, d: { B: encoded } }];
  };
  const context = { table: { getMany } as Table, compression: brotli };
  for (let i = 0; i < 3; i++) {
    const loaded = await loadMessages(context, LOG, [block]);
    for (const [slot, message] of messages.entries()) {
      assert.deepEqual(loaded.at(block, slot).properties, message.properties);
    }
  }
  return reads;
}

test('a payload whose block is remembered is read and decoded once', async () => {
  assert.equal(await readsOf(0), 1);
  assert.equal(await readsOf(3, 0, 5), 1);
});

test('messages with more than 200 properties together are not kept, since they take much more memory than they count', async () => {
  assert.equal(await readsOf(200), 1);
  assert.equal(await readsOf(201), 3);
  assert.equal(await readsOf(100, 100), 1);
  assert.equal(await readsOf(100, 0, 101), 3);
});
