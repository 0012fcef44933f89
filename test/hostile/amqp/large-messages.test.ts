import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonBytesMax, jsonText } from '../../../amqp/messages/json-text.ts';
import { BATCH_FORMAT, readDelivery } from '../../../amqp/messages/read-message.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  binary,
  described,
  list,
  mapOf,
  NULL,
  str,
} from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { MB } from '../../../shared/domain/units.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { dataMessage, targetOf } from '../../support/raw-session.ts';

const { heldPerByte, heldPerShownByte, shownBytes } = BUDGETS.delivery;
const { sentMessageBytes } = BUDGETS.weights;
const valueMessage = (value: AmqpValue) =>
  writeSections({ body: [described(SECTION.value, value)] });

test('row 5: the memory of a decoded message counts until it is stored', async (t) => {
  let held = 0;
  const memory = new MemoryBudget(100 * MB);
  const { connect, broker } = await startFakeGateway(t, { memory });
  const { send } = broker;
  broker.send = async (path, messages) => {
    held = memory.held;
    return await send.call(broker, path, messages);
  };
  const session = connect();
  const sender = await session.sender(targetOf('q'));
  const empty = memory.held;
  const payload = dataMessage('x'.repeat(200_000));
  assert.equal((await session.send(sender, payload))?.kind, 'accepted');
  assert.ok(held - empty >= (1 + heldPerByte) * payload.length, `${held - empty} are counted`);
  assert.ok(memory.held - empty < payload.length);
});

test('row 5: a message larger than all memory is refused by its size', async (t) => {
  const memory = new MemoryBudget(1.25 * MB);
  const { connect, broker } = await startFakeGateway(t, { memory });
  const session = connect();
  const sender = await session.sender(targetOf('q'));
  const outcome = await session.send(sender, dataMessage('x'.repeat(MB / 2)));
  assert.ok(outcome?.kind === 'rejected');
  assert.equal(outcome.error?.condition, 'amqp:link:message-size-exceeded');
  assert.match(outcome.error?.description ?? '', /more memory/);
  assert.deepEqual(broker.waiting('q'), []);
  // The connection stays open.
  assert.equal((await session.send(sender, dataMessage('small')))?.kind, 'accepted');
});

test('row 5: a body whose JSON is many times as long is refused before the JSON is written', () => {
  const length = Math.ceil(shownBytes / 3);
  const stringify = JSON.stringify;
  let written = 0;
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    written++;
    return stringify(...args);
  }) as typeof stringify;
  try {
    const payload = valueMessage(list([str('\0'.repeat(length))]));
    assert.throws(() => readDelivery(payload, 0), /as JSON/);
  } finally {
    JSON.stringify = stringify;
  }
  assert.equal(written, 0);
});

/** A map in the key of a map in a key: each level doubles the length of its JSON. */
const keyInKey = (levels: number): AmqpValue =>
  levels === 0 ? str('') : { type: 'map', value: [[keyInKey(levels - 1), NULL]] };

test('row 5: the bodies of a batch become as much JSON together as one body may', () => {
  const message = valueMessage(keyInKey(18));
  const [one] = readDelivery(message, 0);
  const atMost = Math.floor(shownBytes / (one?.body.length ?? 0));
  const batch = (count: number) =>
    writeSections({
      body: Array.from({ length: count }, () => described(SECTION.data, binary(message))),
    });
  assert.equal(readDelivery(batch(4), BATCH_FORMAT).length, 4);
  assert.throws(() => readDelivery(batch(atMost + 1), BATCH_FORMAT), {
    code: 'MessageSizeExceeded',
    message: /as JSON/,
  });
});

test('row 5: an id of a message that is no single value is refused before it becomes a text', () => {
  for (const id of [
    keyInKey(28),
    list([]),
    described(1n, str('a')),
    { type: 'array', element: 'string', value: [] } as const,
  ]) {
    for (const properties of [list([id]), list([NULL, NULL, NULL, NULL, NULL, id])]) {
      assert.throws(() => readDelivery(writeSections({ properties, body: [] }), 0), {
        code: 'ArgumentError',
        message: /an id of a message/,
      });
    }
  }
});

test('row 5: the JSON of a value is never longer than its computed maximum', () => {
  const values: readonly AmqpValue[] = [
    ...[NULL, { type: 'boolean', value: false } as const],
    ...(['float', 'double'] as const).flatMap((type) =>
      [-Number.MIN_VALUE, -2.2250738585072014e-308, Number.NEGATIVE_INFINITY, Number.NaN].map(
        (value) => ({ type, value }),
      ),
    ),
    ...([-(2n ** 63n), 8_640_000_000_000_000n, -62_135_596_800_001n] as const).map(
      (value) => ({ type: 'timestamp', value }) as const,
    ),
    { type: 'long', value: -(2n ** 63n) },
    { type: 'ulong', value: 2n ** 64n - 1n },
    { type: 'int', value: -(2 ** 31) },
    ...[0, 0xd800, 0x10ffff, 0xffff_ffff].map((value) => ({ type: 'char', value }) as const),
    { type: 'decimal32', value: Buffer.alloc(4) },
    { type: 'decimal64', value: Buffer.alloc(8) },
    { type: 'decimal128', value: Buffer.alloc(16) },
    { type: 'uuid', value: Buffer.alloc(16) },
    { type: 'binary', value: Buffer.alloc(17) },
    ...['\0"\\é😀', '\ud800'].map(str),
  ];
  for (const value of values) {
    for (const one of [value, list([value, value]), mapOf({ a: value })]) {
      const { length } = Buffer.from(jsonText(one));
      assert.ok(jsonBytesMax(one) >= length, `${value.type}: ${jsonText(one)}`);
    }
    const keyed: AmqpValue = { type: 'map', value: [[list([value]), value]] };
    assert.ok(jsonBytesMax(keyed) >= Buffer.from(jsonText(keyed)).length);
  }
});

test('row 5: the JSON of a body counts before it is written', () => {
  let held = 0;
  const text = '"'.repeat(10_000);
  readDelivery(valueMessage(list([str(text)])), 0, (bytes) => {
    held += bytes;
  });
  const shown = heldPerShownByte * JSON.stringify([text]).length;
  assert.ok(held >= sentMessageBytes + shown);
  assert.ok(held < sentMessageBytes + shown + 100);
});
