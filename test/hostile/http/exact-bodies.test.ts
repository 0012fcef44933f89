import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { EXACT_TYPE, exactBody } from '../../support/exact-messages.ts';
import { turnsUntil } from '../../support/fake-peer.ts';
import { startApp } from '../../support/http-fixture.ts';
import { sentBytes } from '../../support/sent-messages.ts';
import { startBroker } from '../../support/start-broker.ts';

/** Rows 5 and 7: bodies in the exact format, whose senders choose every byte. */

const KB = 1024;
const headers = { 'content-type': EXACT_TYPE };
const post = (body: Uint8Array) => ({ headers, body: new Uint8Array(body) });
const PATHS = ['/q/messages', '/q/messages/$schedule'];

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

/** The code of a refusal; asserts that it is JSON with a sentence, and no fault. */
async function refusalOf(response: Response): Promise<string> {
  const text = await response.text();
  assert.ok(response.status >= 400 && response.status < 500, `${response.status}: ${text}`);
  const { error } = JSON.parse(text) as Refusal;
  assert.match(error.message, /[a-z0-9].*\.$/);
  return error.code;
}

const section = (hex: string) => Buffer.from(`005375${hex}`, 'hex');
const BROKEN: Readonly<Record<string, Uint8Array>> = {
  'no bytes': new Uint8Array(),
  'one byte': Uint8Array.of(0),
  'a cut descriptor': Buffer.from('0053', 'hex'),
  'a cut data section': section('a00500'),
  'a length beyond the body': section('b0ffffffff00'),
  'a data section that holds a text': section('a10161'),
  'a value section in place of data': Buffer.from('00537740', 'hex'),
  'a section that does not exist': Buffer.from('00537940', 'hex'),
  'a message in no batch': Buffer.from('005377a10161', 'hex'),
  'a message of broken bytes': section('a003ffffff'),
  'a message whose list has more elements than bytes': section('a00c005376d00000000500ffffff'),
  text: Buffer.from('[{"Body":"a"}]'),
};

for (const [what, body] of Object.entries(BROKEN)) {
  test(`row 5: a body with ${what} is refused with a sentence`, async () => {
    for (const path of PATHS) {
      const { call, broker } = startApp();
      assert.equal(await refusalOf(await call('POST', path, post(body))), 'ArgumentError');
      assert.deepEqual(broker.waiting('q'), []);
    }
  });
}

test('row 5: bytes that were changed anywhere are accepted, or refused without a fault', async () => {
  const { call } = startApp();
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
  const cut = fc.option(fc.nat(), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(fc.array(sentBytes, { maxLength: 3 }), changes, cut, async (all, at, end) => {
      const body = Buffer.from(exactBody(...all));
      for (const [place, byte] of at) if (body.length > 0) body[place % body.length] = byte;
      const bytes = end === undefined ? body : body.subarray(0, end % (body.length + 1));
      for (const path of PATHS) {
        const response = await call('POST', path, post(bytes));
        if (response.status !== 201) await refusalOf(response);
      }
    }),
    { numRuns: 300 },
  );
});

test('row 5: a transaction with changed bytes is carried out, or refused without a fault', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q');
  const changed = fc.tuple(sentBytes, fc.nat(), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(changed, async ([one, place, byte]) => {
      const bytes = Buffer.from(exactBody(one));
      bytes[place % bytes.length] = byte;
      const operations = [{ send: 'q', amqp: bytes.toString('base64') }];
      const answer = await bus.request('POST', '$transactions', {
        body: JSON.stringify({ operations }),
      });
      assert.ok(
        answer.status === 200 || (answer.status >= 400 && answer.status < 500),
        answer.text,
      );
    }),
    { numRuns: 60 },
  );
});

test('row 5: a value of too many levels is refused', async () => {
  const { call } = startApp();
  for (const [levels, status] of [
    [10, 201],
    [BUDGETS.value.depth + 1, 400],
    [20_000, 400],
  ] as const) {
    let value = Buffer.from('45', 'hex');
    for (let i = 0; i < levels; i++) {
      const head = Buffer.from('d00000000000000001', 'hex');
      head.writeUInt32BE(value.length + 4, 1);
      value = Buffer.concat([head, value]);
    }
    const message = Buffer.concat([Buffer.from('005377', 'hex'), value]);
    const response = await call('POST', '/q/messages', post(exactBody(message)));
    assert.equal(response.status, status, `${levels} levels`);
    if (status === 400) assert.equal(await refusalOf(response), 'ArgumentError');
  }
});

/** A message of four bytes, the smallest that is one. */
const TINY = Buffer.from('00537740', 'hex');
const tiny = (count: number) => exactBody(...Array.from({ length: count }, () => TINY));

test('row 7: more messages than a batch may have are refused, whether they are decoded or not', async () => {
  const { call, broker } = startApp();
  const { batchMessages } = LIMITS;
  const over = await call('POST', '/q/messages', post(tiny(batchMessages + 1)));
  assert.equal(await refusalOf(over), 'MessageSizeExceeded');
  const many = Buffer.alloc(5 * 200_000, Buffer.from('005375a000', 'hex'));
  assert.equal(await refusalOf(await call('POST', '/q/messages', post(many))), 'ArgumentError');
  assert.deepEqual(broker.waiting('q'), []);
  assert.equal((await call('POST', '/q/messages', post(tiny(batchMessages)))).status, 201);
});

test('row 7: the messages of a batch count as memory, however short they are', async () => {
  const count = 400;
  const body = tiny(count);
  const oneBatch = count * BUDGETS.weights.sentMessageBytes + 3 * body.length;
  const memory = new MemoryBudget(3.9 * oneBatch);
  const { call, broker } = startApp({ memory });
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun = 0;
  let answered = 0;
  broker.send = async (_path, messages) => {
    begun++;
    await finished;
    return messages.map(() => ({ messageId: 'x' }));
  };
  const answers = Array.from({ length: 5 }, async () => {
    const answer = await call('POST', '/q/messages', post(body));
    answered++;
    return answer.status;
  });
  // Three wait for the broker; two are refused.
  await turnsUntil(() => begun === 3 && answered === 2);
  assert.ok(memory.held >= 3 * count * KB, `${memory.held} bytes are counted`);
  finish();
  assert.deepEqual((await Promise.all(answers)).sort(), [201, 201, 201, 503, 503]);
  assert.equal(memory.held, 0);
});

test('row 7: a body is decoded in a turn of its own, and many messages are sent in another', async () => {
  let turns = 0;
  const scheduler = {
    now: () => turns * BUDGETS.turnMs,
    soon: (work: () => void) => {
      turns++;
      setImmediate(work);
    },
  };
  for (const [count, least] of [
    [1, 0],
    [1000, 2],
  ] as const) {
    turns = 0;
    let calls = 0;
    const workTurns = new WorkTurns(scheduler);
    const next = workTurns.next.bind(workTurns);
    workTurns.next = (peer) => {
      calls++;
      return next(peer);
    };
    const { call } = startApp({ workTurns });
    assert.equal((await call('POST', '/q/messages', post(tiny(count)))).status, 201);
    assert.equal(calls, least, `${count} messages`);
  }
});

test('row 7: a body that is longer than the entity allows is refused before it is read', async () => {
  const { call } = startApp();
  const length = String(4 * 1024 * KB);
  const init = { ...post(tiny(1)), headers: { ...headers, 'content-length': length } };
  assert.equal(await refusalOf(await call('POST', '/q/messages', init)), 'MessageSizeExceeded');
});
