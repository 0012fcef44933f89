import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Caller, HttpAnswer } from '../../../client/call.ts';
import { TooManySessionsError } from '../../../client/client-errors.ts';
import { subQueueOf } from '../../../client/entity-path.ts';
import { listSessions } from '../../../client/message-calls.ts';

const PATH = subQueueOf('orders', 'main');

/** Answers listings of sessions, which may change before each of them. */
class Sessions implements Caller {
  ids: readonly string[];
  /** Called before each answer with how many were given. */
  change: (answered: number) => void = () => {};
  answered = 0;

  constructor(count: number) {
    this.ids = Array.from({ length: count }, (_, i) => `s${String(i).padStart(6, '0')}`);
  }

  async call({ query = {} }: Call): Promise<HttpAnswer> {
    this.change(this.answered++);
    const skip = Number(query['skip']);
    const sessionIds = this.ids.slice(skip, skip + Number(query['top']));
    const text = JSON.stringify({ sessionIds });
    return { status: 200, header: () => undefined, text, bytes: Buffer.from(text) };
  }
}

async function allOf(sessions: Sessions): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const id of listSessions(sessions, PATH)) ids.push(id);
  return ids;
}

test('sessions of one page take one call', async () => {
  const sessions = new Sessions(999);
  assert.deepEqual(await allOf(sessions), sessions.ids);
  assert.equal(sessions.answered, 1);
});

test('of sessions of several pages none is missing if others end meanwhile', async () => {
  const sessions = new Sessions(2_500);
  const { ids } = sessions;
  sessions.change = (answered) => {
    if (answered === 1) sessions.ids = ids.slice(5);
  };
  assert.deepEqual([...(await allOf(sessions))].sort(), ids);
  assert.equal(sessions.answered, 9, 'three listings, of which the last one brings nothing new');
});

test('of sessions of several pages none comes twice if others begin meanwhile', async () => {
  const sessions = new Sessions(1_010);
  const all = ['a', 'b', ...sessions.ids];
  sessions.change = (answered) => {
    if (answered === 1) sessions.ids = all;
  };
  assert.deepEqual([...(await allOf(sessions))].sort(), all);
});

test('sessions that begin without end are listed five times', async () => {
  const sessions = new Sessions(1_010);
  sessions.change = (answered) => {
    sessions.ids = [`a${answered}`, ...sessions.ids];
  };
  await allOf(sessions);
  assert.equal(sessions.answered, 10);
});

test('more than 200,000 sessions are refused with a sentence', async () => {
  await assert.rejects(allOf(new Sessions(200_001)), (error) => {
    assert.ok(error instanceof TooManySessionsError);
    assert.match(error.message, /^More than 200,000 sessions have messages/);
    return true;
  });
  assert.equal((await allOf(new Sessions(200_000))).length, 200_000);
});
