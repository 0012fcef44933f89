import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { type AmqpPeer, GatewayFixture, turns } from '../../support/amqp-peer.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';

/** Row 11: the work for unauthorized peers. */

const { refusals } = BUDGETS.connection;

const tokenFor = (path: string, keyName: string, key = `${keyName}-primary`) =>
  createSasToken({
    audience: `sb://localhost/${path}`,
    keyName,
    key,
    expiresAt: FAKE_NOW + 3_600_000,
  });

const detach = (peer: AmqpPeer, handle: number) =>
  peer.say({ kind: 'detach', handle, closed: true });

test('row 11: tokens that arrive together are checked one at a time, and no more than twenty', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const links = 10;
  for (let handle = 0; handle < links; handle++) peer.attach(handle, 'sender', '$cbs');
  fixture.holdReads();
  const claims = 5 * refusals;
  for (let i = 0; i < claims; i++) {
    peer.putToken(i % links, tokenFor(`e${i}`, 'made up'), `e${i}`);
  }
  await turns(50);
  assert.equal(fixture.reads.length, 1, 'one check is under way');
  assert.ok(peer.isPaused, 'nothing more is read meanwhile');
  for (let i = 0; i < claims; i++) {
    fixture.releaseReads();
    await turns(3);
  }
  assert.equal(fixture.reads.length, refusals);
  const [close] = peer.said('close');
  assert.equal(close?.error?.condition, 'amqp:unauthorized-access');
  assert.deepEqual(fixture.faults, []);
});

test('row 11: links of a client with a made-up key are checked one at a time, and no more than twenty', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('made up');
  fixture.holdReads();
  const links = 5 * refusals;
  for (let i = 0; i < links; i++) {
    peer.attach(0, 'sender', `e${i}`);
    detach(peer, 0);
  }
  await turns();
  assert.equal(fixture.reads.length, 1);
  for (let i = 0; i < links; i++) {
    fixture.releaseReads();
    await turns(3);
  }
  assert.equal(fixture.reads.length, refusals);
  const [close] = peer.said('close');
  assert.equal(close?.error?.condition, 'amqp:unauthorized-access');
});

test('row 11: a link that detaches before its answer counts until its check is over', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('root');
  const before = fixture.memory.held;
  fixture.holdReads();
  peer.attach(0, 'sender', 'q');
  detach(peer, 0);
  await turns();
  assert.equal(fixture.reads.length, 1);
  assert.deepEqual(peer.said('detach'), [], 'it hears back when nothing is left to do');
  assert.ok(fixture.memory.held >= before + BUDGETS.weights.linkBytes);
  fixture.releaseReads();
  await turns();
  assert.equal(peer.said('detach').length, 1);
  assert.equal(fixture.memory.held, before);
});

test('row 11: the session of such a link also counts until then', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('root');
  fixture.holdReads();
  peer.attach(0, 'sender', 'q');
  const before = fixture.memory.held;
  peer.say({ kind: 'end' });
  await turns();
  assert.equal(fixture.memory.held, before);
  fixture.releaseReads();
  await turns();
  assert.equal(peer.said('end').length, 1);
  assert.ok(fixture.memory.held < before - BUDGETS.weights.linkBytes);
});

test('row 11: with the key of an entity, many links may attach at once', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('sender');
  const links = 2 * BUDGETS.connection.unauthorized.links;
  fixture.holdReads();
  for (let handle = 0; handle < links; handle++) peer.attach(handle, 'sender', 'q');
  for (let i = 0; i < links; i++) {
    fixture.releaseReads();
    await turns();
  }
  assert.deepEqual(peer.said('close'), []);
  assert.equal(peer.said('attach').filter(({ target }) => target !== undefined).length, links);
  assert.equal(peer.isPaused, false);
});

test('row 11: a wrong key for an entity is not a refusal if a token grants the right', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('sender', 'another entity has this key');
  peer.attach(0, 'sender', '$cbs');
  peer.putToken(0, tokenFor('q', 'listener'), 'q');
  await turns();
  for (let handle = 1; handle <= 2 * refusals; handle++) {
    peer.attach(handle, 'receiver', 'q', { name: `r${handle}` });
  }
  await turns(50);
  assert.deepEqual(peer.said('close'), []);
  assert.equal(peer.said('attach').length, 1 + 2 * refusals);
});
