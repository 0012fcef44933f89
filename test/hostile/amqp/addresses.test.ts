import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf } from '../../../amqp/service/address.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { binary, described, list, symbol } from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { AmqpPeer, attachFrame, GatewayFixture, turns } from '../../support/amqp-peer.ts';
import { targetOf } from '../../support/raw-session.ts';

/** Names, addresses, hosts and keys, which stay in memory as long as their link or connection. */

const { linkTextLength, hostLength, saslInitBytes, unauthorized } = BUDGETS.connection;
const TOO_LONG = 'a'.repeat(linkTextLength + 1);

const slashes = (count: number) => `a${'/'.repeat(count)}$management`;

test('row 3: an address of very many slashes is refused', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  peer.attach(0, 'sender', slashes(60_000));
  await turns();
  const [detach] = peer.said('detach');
  assert.equal(detach?.error?.condition, 'com.microsoft:argument-error');
  assert.match(detach?.error?.description ?? '', /has 60012 characters; the limit is 1024/);
});

test('row 3: only the entity path of an address is kept', () => {
  const path = { key: 'a', name: 'a', subQueue: 'main' };
  assert.deepEqual(nodeOf(targetOf(slashes(900))), {
    kind: 'management',
    path,
    pathname: 'a/$management',
  });
  assert.deepEqual(nodeOf(targetOf('//a//')), { kind: 'entity', path, pathname: 'a' });
});

for (const [what, [role, address, more]] of Object.entries({
  'name of a link': ['sender', '$cbs', { name: TOO_LONG }],
  'address of a node': ['receiver', TOO_LONG, {}],
  'address for answers': ['receiver', '$cbs', { answers: TOO_LONG }],
} as const)) {
  test(`row 1: a very long ${what} is refused with an error and not kept`, async (t) => {
    const fixture = new GatewayFixture(t);
    const peer = await fixture.peer();
    const before = fixture.memory.held;
    peer.attach(0, role, address, more);
    await turns();
    const [detach] = peer.said('detach');
    assert.equal(detach?.error?.condition, 'com.microsoft:argument-error');
    assert.match(detach?.error?.description ?? '', /has 1025 characters; the limit is 1024/);
    peer.say({ kind: 'detach', handle: 0, closed: true });
    await turns();
    assert.equal(fixture.memory.held, before);
  });
}

test('row 1: addresses of links count as memory while they are kept', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const before = fixture.memory.held;
  for (let handle = 0; handle < unauthorized.links; handle++) {
    const answers = String(handle).padEnd(linkTextLength, 'x');
    peer.attach(handle, 'receiver', '$cbs', { answers });
  }
  await turns(5 * unauthorized.links);
  assert.equal(peer.said('attach').length, unauthorized.links);
  const each = BUDGETS.weights.linkBytes + linkTextLength;
  assert.ok(fixture.memory.held >= before + unauthorized.links * each);
  for (let handle = 0; handle < unauthorized.links; handle++) {
    peer.say({ kind: 'detach', handle, closed: true });
  }
  await turns(5 * unauthorized.links);
  assert.equal(fixture.memory.held, before);
});

test('row 1: a name of invalid UTF-8 counts with its decoded size', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const before = fixture.memory.held;
  const name = 'x'.repeat(linkTextLength);
  const attach = attachFrame(0, 'sender', '$cbs', { answers: 'answers', name });
  attach.fill(0xff, attach.indexOf(name), attach.indexOf(name) + name.length);
  peer.take(attach);
  await turns();
  assert.ok(fixture.memory.held >= before + 3 * linkTextLength);
  peer.say({ kind: 'detach', handle: 0, closed: true });
  await turns();
  assert.equal(fixture.memory.held, before);
  assert.deepEqual(fixture.faults, []);
});

test('row 1: an open with a very long hostname is refused', async (t) => {
  const { gateway } = new GatewayFixture(t);
  const peer = new AmqpPeer(gateway);
  t.after(() => peer.lost());
  peer.take(protocolHeader('amqp'));
  peer.say({ kind: 'open', containerId: 'c', hostname: 'h'.repeat(hostLength + 1) });
  await turns();
  const [close] = peer.said('close');
  assert.equal(close?.error?.condition, 'amqp:invalid-field');
  assert.match(close?.error?.description ?? '', /the limit is 512 characters/);
});

test('row 1: a very long name or key is refused', async (t) => {
  const { gateway } = new GatewayFixture(t);
  const peer = new AmqpPeer(gateway);
  t.after(() => peer.lost());
  const proof = Buffer.from(`\0made up\0${'k'.repeat(saslInitBytes)}`);
  const init = list([symbol('PLAIN'), binary(proof)]);
  peer.take(protocolHeader('sasl'), encodeFrame('sasl', 0, described(0x41n, init)));
  await turns();
  peer.take(protocolHeader('amqp'));
  peer.say({ kind: 'open', containerId: 'c' });
  await turns();
  assert.deepEqual(peer.heard, [], 'the connection does not open');
});
