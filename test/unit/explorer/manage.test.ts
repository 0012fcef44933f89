import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../../client/call.ts';
import { UnreachableError } from '../../../client/client-errors.ts';
import { getEntity } from '../../../explorer/namespace/manage.ts';
import { refusal } from './listed-queue.ts';

/** A namespace that answers these paths, and refuses all others for the lack of a right. */
function answering(answers: Readonly<Record<string, object>>): Caller {
  return {
    call: async ({ path }) => {
      const answer = answers[path];
      if (answer === undefined) throw refusal('Unauthorized', 401);
      const text = JSON.stringify(answer);
      return { status: 200, header: () => undefined, text, bytes: Buffer.from(text) };
    },
  };
}

const RECEIVER = { kind: 'queue', requiresSession: false };
const NO_ENTITY = /There is no entity 'q'\./;
const NOTHING = new Uint8Array();
const SENDER = { ...RECEIVER, requiresDuplicateDetection: true };

test('who may listen and send knows whether an entity detects duplicates', async () => {
  const caller = answering({ 'q/messages/$receiver': RECEIVER, 'q/messages/$sender': SENDER });
  const { json, right, canSend } = await getEntity(caller, 'q');
  assert.deepEqual([right, canSend], ['listen', true]);
  assert.deepEqual(json, { ...SENDER, name: 'q' });
});

test('who may only listen does not know it, and may not send', async () => {
  const caller = answering({ 'q/messages/$receiver': RECEIVER });
  const { json, right, canSend } = await getEntity(caller, 'q');
  assert.deepEqual([right, canSend], ['listen', false]);
  assert.equal(json['requiresDuplicateDetection'], undefined);
});

test('an entity is read at its path, in any case of letters', async () => {
  const kind = 'subscription';
  const caller = answering({ 'News/subscriptions/All': { kind, name: 'news/Subscriptions/all' } });
  const { json, right } = await getEntity(caller, 'News/subscriptions/All');
  assert.deepEqual([json.name, right], ['news/Subscriptions/all', 'manage']);
});

test('an answer that is not about an entity of this path shows none', async () => {
  for (const answer of [
    { now: '2026-01-01T00:00:00Z' },
    { entities: [] },
    [],
    { kind: 'queue' },
    { kind: 'queue', name: 'other' },
    { kind: 'consumer', name: 'q' },
    { name: 'q' },
  ]) {
    const about = JSON.stringify(answer);
    await assert.rejects(getEntity(answering({ q: answer }), 'q'), NO_ENTITY, about);
  }
  const page: Caller = {
    call: async () => ({ status: 200, header: () => undefined, text: '<html>', bytes: NOTHING }),
  };
  await assert.rejects(getEntity(page, '$explorer'), /There is no entity '\$explorer'\./);
  const listening = answering({ 'q/messages/$receiver': { sessions: [] } });
  await assert.rejects(getEntity(listening, 'q'), NO_ENTITY);
});

test('without any right, the refusal of the service is told', async () => {
  await assert.rejects(getEntity(answering({}), 'q'), /Refused: Unauthorized/);
});

test('an answer that is lost is no lack of a right', async () => {
  const { call } = answering({ 'q/messages/$sender': SENDER });
  const lossy: Caller = {
    call: async (request) => {
      if (request.path === 'q/messages/$receiver') throw new UnreachableError('No answer.');
      return await call(request);
    },
  };
  await assert.rejects(getEntity(lossy, 'q'), /No answer/);
});
