import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { encode } from '../../../amqp/wire/encode.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../../amqp/wire/performatives.ts';
import { described, list, str } from '../../../amqp/wire/value.ts';
import { isMore } from '../../runner/more.ts';
import { RawAmqp, type Said } from '../../support/raw-amqp.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** Clients that use much memory, time, or many links and sessions. */

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const LINKS = isMore() ? 10_000 : 3000;
const LINKS_OF_SESSION = 1000;
const WINDOWS = { nextIncomingId: 0, nextOutgoingId: 0, outgoingWindow: 100 };

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function attach(handle: number, role: 'sender' | 'receiver', address: string): Performative {
  const [source, target] = [0x28n, 0x29n].map((code) => described(code, list([str(address)])));
  const terminus = { ...(source && { source }), ...(target && { target }) };
  return { kind: 'attach', name: `${role}-${address}-${handle}`, handle, role, ...terminus };
}

/** Attaches many links in as many sessions as they need; resolves when all are answered. */
async function attachMany(client: RawAmqp, count: number, address: string): Promise<void> {
  for (let done = 0; done < count; done += LINKS_OF_SESSION) {
    const channel = 1 + done / LINKS_OF_SESSION;
    client.begin(channel);
    for (let handle = 0; handle < Math.min(count - done, LINKS_OF_SESSION); handle++) {
      client.say(attach(handle, 'receiver', address), channel);
    }
  }
  for (let i = 0; i < count; i++) await client.hear('attach');
}

describe('clients that exhaust resources', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace({ firstBytesMs: 300 });
    const admin = administrationOf(namespace.connectionString);
    await admin.createQueue('orders');
    await admin.createQueue('full');
  });
  after(async () => {
    await namespace.stop();
    assert.deepEqual(namespace.faults, []);
  });
  const authenticated = () =>
    RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);

  test(`a client has ${LINKS} links, whose memory is released`, async (t) => {
    const empty = heapBytes();
    const client = authenticated();
    await attachMany(client, LINKS, 'orders');
    const full = heapBytes();
    t.diagnostic(`${Math.round((full - empty) / LINKS)} bytes a link, both ends`);
    client.destroy();
    await client.hear('ended');
    const deadline = Date.now() + 10_000;
    while (heapBytes() - empty > (full - empty) / 4 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.ok(heapBytes() - empty <= (full - empty) / 4, 'memory of links stays');
  });

  test('more links than a connection may have end the connection', async () => {
    const client = authenticated();
    for (let channel = 1; channel <= 21; channel++) {
      client.begin(channel);
      for (let handle = 0; handle < LINKS_OF_SESSION; handle++) {
        client.say(attach(handle, 'receiver', '$cbs'), channel);
      }
    }
    const { error } = await client.hear('close');
    assert.equal(error?.condition, 'amqp:resource-limit-exceeded');
    client.destroy();
  });

  test('links that have ended can be replaced', async () => {
    const client = authenticated();
    for (let round = 0; round < 21; round++) {
      const handles = Array.from({ length: LINKS_OF_SESSION }, (_, handle) => handle);
      for (const handle of handles) client.say(attach(handle, 'receiver', '$cbs'));
      for (const handle of handles) client.say({ kind: 'detach', handle, closed: true });
      for (const _ of handles) await client.hear('detach');
    }
    client.say({ kind: 'close' });
    assert.equal((await client.hear('close')).error, undefined);
  });

  test('parts of incomplete messages cost no more memory than their bytes', async () => {
    const client = RawAmqp.open(namespace.port);
    client.begin();
    client.say(attach(0, 'sender', '$cbs'));
    await client.hear('flow');
    const before = heapBytes();
    const part: Performative = { kind: 'transfer', handle: 0, deliveryId: 0, more: true };
    for (let i = 0; i < 100; i++) {
      // Half of a session's window, after which the service renews it.
      for (let j = 0; j < 1024; j++) client.say(part);
      await client.hear('flow');
    }
    assert.ok(heapBytes() - before < 8_000_000, `${heapBytes() - before} bytes`);
    client.destroy();
  });

  test('too many bytes of incomplete messages close the connection', async () => {
    const client = authenticated();
    const payload = Buffer.alloc(60_000);
    let said: Said = { kind: 'ended' };
    for (let handle = 0; handle < 160; handle++) {
      client.say(attach(handle, 'sender', 'orders'));
      said = await client.hear('flow', 'close');
      if (said.kind === 'close') break;
      const transfer = { kind: 'transfer', handle, deliveryId: handle, more: true } as const;
      for (let i = 0; i < 15; i++) client.say(transfer, 0, payload);
    }
    assert.ok(said.kind === 'close');
    assert.equal(said.error?.condition, 'amqp:resource-limit-exceeded');
    client.destroy();
  });

  test('the input of a client that never reads is paused', async () => {
    const socket = connect(namespace.port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.on('close', () => resolve(false)));
    const frame = (performative: Performative, channel = 0) =>
      encodeFrame('amqp', channel, writePerformative(performative));
    socket.write(protocolHeader('amqp'));
    socket.write(frame({ kind: 'open', containerId: 'deaf' }));
    socket.write(frame({ kind: 'begin', ...WINDOWS, incomingWindow: 9 }));
    socket.pause();
    const before = heapBytes();
    const flow = frame({ kind: 'flow', ...WINDOWS, incomingWindow: 9, echo: true });
    const flows = Buffer.concat(Array.from({ length: 20_000 }, () => flow));
    let written = 0;
    // Until the service reads no more, and the buffers between are full.
    while (written < 400_000_000 && !socket.destroyed) {
      written += flows.length;
      if (!socket.write(flows)) {
        const drained = new Promise((resolve) => socket.once('drain', () => resolve(true)));
        const enough = new Promise((resolve) => setTimeout(resolve, 1000, false));
        if (!(await Promise.race([drained, enough, closed]))) break;
      }
    }
    assert.ok(written < 100_000_000, `${written} bytes were taken`);
    assert.ok(heapBytes() - before < 60_000_000);
    socket.destroy();
  });

  test('a receiver with a closed session window locks few messages', async () => {
    const sender = authenticated();
    sender.say(attach(0, 'sender', 'full'));
    await sender.hear('flow');
    const body = described(0x75n, { type: 'binary', value: Buffer.alloc(200_000) });
    const message = encode(body);
    for (let deliveryId = 0; deliveryId < 100; deliveryId++) {
      for (let at = 0; at < message.length; at += 60_000) {
        const more = at + 60_000 < message.length;
        const transfer = { kind: 'transfer', handle: 0, deliveryId, more } as const;
        sender.say(transfer, 0, message.subarray(at, at + 60_000));
      }
      await sender.hear('disposition');
    }
    const deaf = authenticated();
    deaf.say(attach(0, 'receiver', 'full'));
    await deaf.hear('attach');
    const credit = { handle: 0, deliveryCount: 0, linkCredit: 1000 };
    deaf.say({ kind: 'flow', ...WINDOWS, incomingWindow: 0, ...credit });
    // Until it reads no more.
    const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
    while ((await namespace.units(pause)).requests > 2);
    const other = authenticated();
    other.say(attach(0, 'receiver', 'full'));
    other.say({ kind: 'flow', ...WINDOWS, incomingWindow: 1000, ...credit });
    for (let i = 0; i < 40; i++) await other.hear('transfer');
    deaf.destroy();
    other.destroy();
    sender.destroy();
  });

  test('credit that arrives with the attach counts', async () => {
    const sender = authenticated();
    sender.say(attach(0, 'sender', 'orders'));
    await sender.hear('flow');
    const client = authenticated();
    client.say(attach(0, 'receiver', 'orders'));
    client.say({ kind: 'flow', ...WINDOWS, incomingWindow: 9, handle: 0, linkCredit: 1 });
    await client.hear('attach');
    const payload = Buffer.from('005375a00161', 'hex');
    sender.say({ kind: 'transfer', handle: 0, deliveryId: 0 }, 0, payload);
    await client.hear('transfer');
    client.destroy();
    sender.destroy();
  });

  test('an idle timeout of 0 requests no heartbeats', async () => {
    const client = new RawAmqp(namespace.port);
    client.write(protocolHeader('amqp'));
    client.say({ kind: 'open', containerId: 'calm', idleTimeOutMs: 0 });
    await client.hear('open');
    const before = client.framesHeard;
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(client.framesHeard, before);
    client.destroy();
  });

  test('invalid numbers in fields are refused', async () => {
    for (const wrong of [-1, 2 ** 40]) {
      const client = RawAmqp.open(namespace.port);
      client.begin();
      const value = writePerformative(attach(0, 'sender', '$cbs'));
      assert.ok(value.type === 'described' && value.value.type === 'list');
      const fields = [...value.value.value];
      fields[3] = { type: 'long', value: BigInt(wrong) };
      client.write(encodeFrame('amqp', 0, { ...value, value: list(fields) }));
      assert.equal((await client.hear('close')).error?.condition, 'amqp:decode-error');
    }
  });

  const silent = {
    'says nothing': '',
    'begins a TLS handshake and stops': '160301',
  };
  for (const [what, bytes] of Object.entries(silent)) {
    test(`a client that ${what} is disconnected`, async () => {
      const socket = connect(namespace.port, '127.0.0.1');
      socket.write(Buffer.from(bytes, 'hex'));
      await once(socket.resume(), 'close');
    });
  }

  test('a client that requests a WebSocket at another path and leaves affects nothing', async () => {
    for (let i = 0; i < 20; i++) {
      const socket = connect(namespace.port, '127.0.0.1');
      socket.on('error', () => {});
      const headers = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
      socket.write(`GET /elsewhere HTTP/1.1\r\n${headers}`);
      await once(socket, 'connect');
      socket.resetAndDestroy();
    }
    const client = RawAmqp.open(namespace.port);
    await client.hear('open');
    client.destroy();
  });

  test('a shutdown does not wait for silent clients', async () => {
    const other = await startNamespace();
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    const client = RawAmqp.open(other.port);
    await client.hear('open');
    const startedAt = performance.now();
    await other.stop();
    assert.ok(performance.now() - startedAt < 4000);
    socket.destroy();
  });
});
