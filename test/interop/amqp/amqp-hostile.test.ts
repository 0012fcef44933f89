import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../../amqp/wire/performatives.ts';
import { described, list, mapOf, NULL, str, symbol, ubyte } from '../../../amqp/wire/value.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const attach = (handle: number, role: 'sender' | 'receiver', address: string): Performative => ({
  kind: 'attach',
  name: `link-${handle}`,
  handle,
  role,
  source: described(0x28n, list([str(address)])),
  target: described(0x29n, list([str(address)])),
});

/** A generator with the same bytes in each run. */
function bytesOf(seed: number): (count: number) => Buffer {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) & 0xff;
  };
  return (count) => Buffer.from(Array.from({ length: count }, next));
}

const WAIT = { maxWaitTimeInMs: 10_000 };

describe('hostile AMQP clients', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
  });
  after(() => namespace.stop());

  /** Asserts that the service still serves others. */
  const assertServing = async () => {
    const client = RawAmqp.open(namespace.port);
    assert.equal((await client.hear('open')).kind, 'open');
    client.say({ kind: 'close' });
    await client.hear('close');
    await client.hear('ended');
  };

  test('input that arrives a byte at a time is understood', async () => {
    const client = new RawAmqp(namespace.port);
    const said = Buffer.concat([
      protocolHeader('amqp'),
      encodeFrame('amqp', 0, writePerformative({ kind: 'open', containerId: 'slow' })),
    ]);
    for (const byte of said) {
      client.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    await client.hear('open');
    client.destroy();
  });

  test('a frame before the open, a second open and an unknown channel end the connection', async () => {
    const early = new RawAmqp(namespace.port);
    early.write(protocolHeader('amqp'));
    early.begin();
    await early.hear('ended', 'close');
    const twice = RawAmqp.open(namespace.port);
    twice.say({ kind: 'open', containerId: 'again' });
    assert.equal((await twice.hear('close')).error?.condition, 'amqp:not-allowed');
    const lost = RawAmqp.open(namespace.port);
    lost.say(attach(0, 'sender', 'q'), 7);
    assert.equal((await lost.hear('close')).error?.condition, 'amqp:not-allowed');
    await assertServing();
  });

  test('transfers, flows and detaches of missing links end the connection', async () => {
    const windows = { nextOutgoingId: 0, incomingWindow: 9, outgoingWindow: 9 };
    const wrong: readonly Performative[] = [
      { kind: 'transfer', handle: 9, deliveryId: 0 },
      { kind: 'flow', ...windows, handle: 9, linkCredit: 1 },
      { kind: 'detach', handle: 9 },
    ];
    for (const performative of wrong) {
      const client = RawAmqp.open(namespace.port);
      client.begin();
      client.say(performative);
      const { error } = await client.hear('close');
      assert.equal(error?.condition, 'amqp:session:unattached-handle');
    }
    await assertServing();
  });

  test('a disposition of billions of deliveries costs nothing', async () => {
    const client = RawAmqp.open(namespace.port);
    client.begin();
    client.say({
      kind: 'disposition',
      role: 'receiver',
      first: 0,
      last: 0xffff_ffff,
      settled: true,
    });
    client.say({ kind: 'end' });
    const startedAt = Date.now();
    await client.hear('end');
    assert.ok(Date.now() - startedAt < 2000);
    client.destroy();
  });

  test('a client that detaches and closes at once gets both answers', async () => {
    await administrationOf(namespace.connectionString).createQueue('left');
    const client = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    client.say(attach(0, 'sender', 'left'));
    await client.hear('attach');
    const frames: readonly Performative[] = [
      { kind: 'detach', handle: 0, closed: true },
      { kind: 'close' },
    ];
    const said = frames.map((frame) => encodeFrame('amqp', 0, writePerformative(frame)));
    client.write(Buffer.concat(said));
    assert.equal((await client.hear('detach', 'close')).kind, 'detach');
    await client.hear('close');
  });

  test('a receiver that ends during the wait for more credit locks no message', async () => {
    await administrationOf(namespace.connectionString).createQueue('kept');
    const bus = new ServiceBusClient(namespace.connectionString);
    const sender = bus.createSender('kept');
    await sender.sendMessages(Array.from({ length: 3 }, () => ({ body: 'held' })));
    const client = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    client.say(attach(0, 'receiver', 'kept'));
    const windows = { nextIncomingId: 0, incomingWindow: 9, nextOutgoingId: 0, outgoingWindow: 9 };
    const credit = { kind: 'flow', ...windows, handle: 0, deliveryCount: 0, echo: true } as const;
    // Sent before the link is answered.
    client.say({ ...credit, linkCredit: 3 });
    for (let i = 0; i < 3; i++) await client.hear('transfer');
    client.say({ ...credit, linkCredit: 4 });
    await client.hear('flow');
    client.say({ kind: 'detach', handle: 0, closed: true });
    await client.hear('detach');
    await sender.sendMessages({ body: 'free' });
    const [message] = await bus.createReceiver('kept').receiveMessages(1, WAIT);
    await bus.close();
    client.destroy();
    assert.deepEqual([message?.body, message?.deliveryCount], ['free', 0]);
  });

  test('a client that detaches before the answer still gets the detach', async () => {
    await administrationOf(namespace.connectionString).createQueue('waits', {
      requiresSession: true,
    });
    const client = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    const filter = mapOf({ 'com.microsoft:session-filter': NULL }, symbol);
    const nothing = Array.from({ length: 6 }, () => NULL);
    client.say({
      ...attach(3, 'receiver', 'waits'),
      source: described(0x28n, list([str('waits'), ...nothing, filter])),
    } as Performative);
    // The wait for a session may have begun by then or not; both must work.
    await new Promise(setImmediate);
    client.say({ kind: 'detach', handle: 3, closed: true });
    await client.hear('attach');
    assert.equal((await client.hear('detach')).error, undefined);
    client.say(attach(3, 'receiver', '$cbs'));
    await client.hear('attach');
    client.destroy();
  });

  test('a frame that is too large is refused before it is complete', async () => {
    const client = RawAmqp.open(namespace.port);
    await client.hear('open');
    client.write(Buffer.from('7fffffff02000000', 'hex'));
    assert.equal((await client.hear('close')).error?.condition, 'amqp:decode-error');
    await client.hear('ended');
  });

  test('a client without a token gets no link to an entity', async () => {
    const client = RawAmqp.open(namespace.port);
    client.begin();
    for (const role of ['sender', 'receiver'] as const) {
      client.say(attach(role === 'sender' ? 0 : 1, role, 'orders'));
      const { error } = await client.hear('detach');
      assert.equal(error?.condition, 'amqp:unauthorized-access');
    }
    client.destroy();
  });

  test('a wrong key is refused by SASL', async () => {
    const client = new RawAmqp(namespace.port, 'sasl');
    client.write(protocolHeader('sasl'));
    const response = Buffer.from('\0RootManageSharedAccessKey\0wrong');
    const init = described(0x41n, list([str('PLAIN'), { type: 'binary', value: response }]));
    client.write(encodeFrame('sasl', 0, init));
    assert.equal((await client.hear('outcome')).code, 1);
    await client.hear('ended');
  });

  test('an unknown mechanism, and frames of another layer, are refused', async () => {
    for (const frame of [
      encodeFrame('sasl', 0, described(0x41n, list([str('NONE')]))),
      encodeFrame('sasl', 0, described(0x44n, list([ubyte(0)]))),
      encodeFrame('amqp', 0, writePerformative({ kind: 'open', containerId: 'x' })),
    ]) {
      const client = new RawAmqp(namespace.port, 'sasl');
      client.write(protocolHeader('sasl'));
      client.write(frame);
      await client.hear('ended');
    }
    await assertServing();
  });

  test('more links than a session may have end the connection, thousands of sessions do not', async () => {
    const many = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    for (let handle = 0; handle <= 1024; handle++) many.say(attach(handle, 'receiver', '$cbs'));
    assert.equal((await many.hear('close')).error?.condition, 'amqp:session:errant-link');
    const wide = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    for (let channel = 1; channel < 4999; channel++) wide.begin(channel);
    wide.say({ kind: 'end' }, 4998);
    await wide.hear('end');
    wide.destroy();
    await assertServing();
  });

  test('noise of every kind ends only its own connection', async () => {
    const random = bytesOf(20_260_101);
    const frames = [
      encodeFrame('amqp', 0, writePerformative({ kind: 'open', containerId: 'noise' })),
      encodeFrame('amqp', 0, writePerformative(attach(0, 'sender', 'q'))),
      encodeFrame('amqp', 0, writePerformative({ kind: 'transfer', handle: 0, deliveryId: 0 })),
    ];
    for (let round = 0; round < 2000; round++) {
      const client = new RawAmqp(namespace.port);
      const [kind = 0, place = 0, byte = 0] = random(3);
      if (kind % 3 === 0) client.write(random(1 + place));
      else {
        client.write(protocolHeader(kind % 3 === 1 ? 'amqp' : 'sasl'));
        const frame = Buffer.concat(frames);
        frame[(place * 7) % frame.length] = byte;
        client.write(
          kind % 2 === 0 ? frame : Buffer.concat([frame.subarray(0, place), random(place)]),
        );
      }
      await new Promise(setImmediate);
      client.destroy();
    }
    await assertServing();
  });
});
