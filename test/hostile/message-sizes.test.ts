import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { SECTION, type Sections, writeSections } from '../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../amqp/wire/states.ts';
import {
  type AmqpValue,
  array,
  binary,
  described,
  list,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
} from '../../amqp/wire/value.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { RawSession, targetOf } from '../support/raw-session.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';

/** Row 5: AMQP-only parts of a message, and messages of very many values. */

const KB = 1024;
const BATCH_FORMAT = 0x80013700;
const SIZE_EXCEEDED = 'amqp:link:message-size-exceeded';

const data = (bytes: Uint8Array) => described(SECTION.data, binary(bytes));
const BODY = [data(Buffer.from('body'))];

/** Messages whose size is in parts that no other protocol has. */
const PARTS: Readonly<Record<string, (bytes: Uint8Array) => Sections>> = {
  'its annotations': (bytes) => ({ annotations: mapOf({ x: binary(bytes) }, symbol), body: BODY }),
  'its footer': (bytes) => ({ footer: mapOf({ x: binary(bytes) }, symbol), body: BODY }),
  'its user-id': (bytes) => ({ properties: list([NULL, binary(bytes)]), body: BODY }),
  'a property with an AMQP-only type': (bytes) => ({
    applicationProperties: mapOf({ x: list([binary(bytes)]) }),
    body: BODY,
  }),
  'a body of several sections': (bytes) => ({ body: [data(bytes), ...BODY] }),
};

/** A message that cannot be compressed. */
const annotated = (bytes: number) =>
  writeSections({ annotations: mapOf({ x: binary(randomBytes(bytes)) }, symbol), body: BODY });

/** A namespace with the queue `q` (256 KB a message in Standard), and a session over AMQP. */
async function start(
  t: TestContext,
  tier: 'Standard' | 'Premium' = 'Standard',
): Promise<{ broker: TestBroker; session: RawSession }> {
  const broker = await startBroker(t, { tier });
  expectStatus(await broker.createQueue('q'), 201);
  const session = RawSession.root(Number(new URL(broker.api.url).port));
  t.after(() => session.raw.destroy());
  return { broker, session };
}

const refusalOf = (state: DeliveryState | undefined) =>
  state?.kind === 'rejected' ? state.error : undefined;

const size = async (broker: TestBroker) => (await broker.runtimeProperties('q')).size;

for (const [what, message] of Object.entries(PARTS)) {
  test(`row 5: the size of a message includes ${what}`, async (t) => {
    const { broker, session } = await start(t);
    const sender = await session.sender(targetOf('q'));
    const refused = await session.send(
      sender,
      writeSections(message(Buffer.alloc(256 * KB + 1, 'x'))),
    );
    assert.equal(refusalOf(refused)?.condition, SIZE_EXCEEDED);
    assert.match(refusalOf(refused)?.description ?? '', /^The message is 26\d{4} bytes long/);
    assert.equal(await size(broker), 0);

    const taken = await session.send(sender, writeSections(message(Buffer.alloc(200 * KB, 'x'))));
    assert.equal(taken?.kind, 'accepted');
    assert.ok((await size(broker)) >= 200 * KB);
  });
}

test('row 5: a body of values counts once against the message size limit, although it is stored twice', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const body = [described(SECTION.value, mapOf({ text: str('x'.repeat(200 * KB)) }))];
  assert.equal((await session.send(sender, writeSections({ body })))?.kind, 'accepted');
  assert.ok((await size(broker)) >= 400 * KB);
});

test('row 5: AMQP-only parts count in the size of a batch', async (t) => {
  const { session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const batch = (messages: number, bytes: number) =>
    writeSections({ body: Array.from({ length: messages }, () => data(annotated(bytes))) });
  const send = (payload: Uint8Array) =>
    session.send(sender, payload, { messageFormat: BATCH_FORMAT });
  const refused = refusalOf(await send(batch(5, 211 * KB)));
  assert.equal(refused?.condition, SIZE_EXCEEDED);
  assert.match(refused.description ?? '', /^The batch is 10\d{5} bytes long/);
  assert.equal((await send(batch(4, 211 * KB)))?.kind, 'accepted');
});

test('row 5: AMQP-only parts count in the size of a scheduled message', async (t) => {
  const { broker, session } = await start(t);
  const message = writeSections({
    annotations: mapOf(
      {
        'x-opt-scheduled-enqueue-time': timestamp(broker.clock.now() + 60_000),
        x: binary(Buffer.alloc(256 * KB, 'x')),
      },
      symbol,
    ),
    body: BODY,
  });
  const entry = mapOf({ message: binary(message) });
  const { status, condition } = await session.ask(
    'q',
    'schedule-message',
    mapOf({ messages: array('map', [entry]) }),
  );
  assert.deepEqual([status, condition], [403, SIZE_EXCEEDED]);
});

test('row 5: AMQP-only parts count in the size limits of a receive and of a peek', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const bytes = 200 * KB;
  const count = 20;
  for (let i = 0; i < count; i++) await session.send(sender, annotated(bytes));

  let peeked = 0;
  const { read } = await broker.units(async () => {
    peeked = (await broker.peek('q')).length;
  });
  assert.equal(peeked, 1);
  // All of them take 1,000 units. This covers two pages, and their blocks.
  assert.ok(read < 120, `${read} read units for one page`);
  const received = await broker.peekLockMany('q', 1000);
  assert.equal(received.length, Math.floor(LIMITS.receiveBytes / bytes));
});

test('row 5: deferred messages are received together up to a size limit, and one by one beyond it', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium' });
  const settings = { MaxMessageSizeInKilobytes: '20480' };
  expectStatus(await broker.createQueue('q', settings), 201);
  const session = RawSession.root(Number(new URL(broker.api.url).port));
  t.after(() => session.raw.destroy());
  session.incomingWindow = 10_000;
  const half = BUDGETS.request.deferredBytes / 2;
  // The other stored parts of a message count as well.
  for (const bytes of [half + KB, half - KB, half - KB])
    await defer(broker, Buffer.alloc(bytes, 'x'));
  const ask = async (...numbers: readonly bigint[]) => {
    const { status, condition, body } = await session.ask(
      'q',
      'receive-by-sequence-number',
      mapOf({
        'sequence-numbers': array(
          'long',
          numbers.map((value): AmqpValue => ({ type: 'long', value })),
        ),
        'receiver-settle-mode': { type: 'uint', value: 1 },
      }),
    );
    const messages = body.get('messages');
    const count = messages?.type === 'list' ? messages.value.length : 0;
    return [status, condition, count];
  };
  assert.deepEqual(await ask(1n, 2n, 3n), [403, SIZE_EXCEEDED, 0]);
  assert.deepEqual(await ask(1n, 2n), [403, SIZE_EXCEEDED, 0]);
  assert.deepEqual(await ask(2n, 3n), [200, undefined, 2]);
  assert.deepEqual(await ask(1n), [200, undefined, 1]);
});

/** Sends a message to `q` and defers it. */
async function defer(broker: TestBroker, body: Buffer): Promise<void> {
  expectStatus(await broker.send('q', body), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  const { LockToken: lockToken } = message.broker;
  const [outcome] = await broker.settle('q', [{ lockToken, outcome: 'defer' }]);
  assert.equal(outcome?.settled, true);
}

const values = (count: number) => described(SECTION.value, list(Array(count).fill(NULL)));
/** The section, its descriptor and its list are further values. */
const MOST = BUDGETS.delivery.values - 3;

test('row 5: a message of more values than the decoder reads is refused, and the link stays usable', async (t) => {
  const { broker, session } = await start(t, 'Premium');
  expectStatus(await broker.updateQueue('q', { MaxMessageSizeInKilobytes: '10240' }), 200);
  const sender = await session.sender(targetOf('q'));
  const refused = await session.send(sender, writeSections({ body: [values(MOST + 1)] }));
  assert.equal(refusalOf(refused)?.condition, 'com.microsoft:argument-error');
  assert.match(refusalOf(refused)?.description ?? '', /^Too many values: the limit is 250000/);
  const taken = await session.send(sender, writeSections({ body: [values(MOST)] }));
  assert.equal(taken?.kind, 'accepted');
});

test('row 5: properties whose number alone exceeds the size limit are refused before they are decoded', async (t) => {
  const { session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const names = Array.from({ length: LIMITS.properties + 1 }, (_, index) => index.toString(36));
  const properties = mapOf(Object.fromEntries(names.map((name) => [name, NULL])));
  const message = writeSections({ applicationProperties: properties, body: BODY });
  const refused = refusalOf(await session.send(sender, message));
  assert.equal(refused?.condition, 'com.microsoft:argument-error');
  assert.match(refused?.description ?? '', /^The message has 32769 properties/);
});

test('row 5: messages of a batch, or scheduled together, share the limit of decoded values', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const third = (annotations = mapOf({}, symbol)) =>
    writeSections({ annotations, body: [values(Math.floor(MOST / 3))] });
  const batch = (count: number) =>
    writeSections({ body: Array.from({ length: count }, () => data(third())) });
  const [three, two] = [
    await session.send(sender, batch(3), { messageFormat: BATCH_FORMAT }),
    await session.send(sender, batch(2), { messageFormat: BATCH_FORMAT }),
  ];
  assert.match(refusalOf(three)?.description ?? '', /^Too many values: the limit is 250000/);
  assert.equal(
    refusalOf(two)?.condition,
    SIZE_EXCEEDED,
    'their JSON is too large, but they were read',
  );

  const due = timestamp(broker.clock.now() + 60_000);
  const entry = mapOf({
    message: binary(third(mapOf({ 'x-opt-scheduled-enqueue-time': due }, symbol))),
  });
  const messages = array('map', [entry, entry, entry]);
  const { status, condition } = await session.ask('q', 'schedule-message', mapOf({ messages }));
  assert.deepEqual([status, condition], [400, 'com.microsoft:argument-error']);
});
