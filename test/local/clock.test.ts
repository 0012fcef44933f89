import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovableClock } from '../../local/movable-clock.ts';
import { CONFIG } from '../../local/namespaces/config-port.ts';
import { withControlRoutes } from '../../local/namespaces/control-routes.ts';
import { startSweeping } from '../../local/sweeping.ts';

const HOUR_MS = 60 * 60 * 1000;
const CLOCK_URL = 'http://localhost/$clock';

test('the clock moves by seconds and keeps running', async () => {
  const { clock, post } = clockApp();
  const before = Date.now();

  const response = await post({ advanceSeconds: 3600 });

  const now = await timeIn(response);
  assert.equal(response.status, 200);
  assert.ok(Date.parse(now) >= before + HOUR_MS && Date.parse(now) < before + HOUR_MS + 60_000);
  assert.ok(clock.now() >= Date.parse(now));
});

test('the clock moves to an instant and reports it', async () => {
  const { app, post } = clockApp();
  await post({ now: '2100-01-01T00:00:00Z' });
  const now = await timeIn(await app.fetch(new Request(CLOCK_URL)));
  assert.match(now, /^2100-01-01T00:00:/);
});

test('the response to a move comes after the work that came due', async () => {
  const done: string[] = [];
  const { clock, post } = clockApp(async () => {
    await Promise.resolve();
    done.push('swept');
  });
  clock.onMove(() => done.push('moved'));
  await post({ advanceSeconds: 1 });
  assert.deepEqual(done, ['moved', 'swept']);
});

for (const body of [
  { advanceSeconds: -1 },
  { now: '2001-01-01T00:00:00Z' },
  { now: 'tomorrow' },
  { advanceSeconds: 1e300 },
  { advanceSeconds: 0.0005 },
  { now: '9999-01-01T00:00:00.001Z' },
  { now: '+010000-01-01T00:00:00Z' },
  { advanceSeconds: '60' },
  {},
  null,
]) {
  test(`the clock refuses ${JSON.stringify(body)}`, async () => {
    const { clock, post } = clockApp();
    const response = await post(body);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /^\{"error":"[^"]/);
    assert.ok(Math.abs(clock.now() - Date.now()) < 1000);
  });
}

test('requests for all other paths reach the app', async () => {
  const { app } = clockApp();
  const others = ['/clock', '/q/$clock', '/?x=/$clock', '/q/messages/head?sessionId=a/$clock'];
  for (const path of others) {
    const answer = await app.fetch(new Request(`http://localhost${path}`));
    assert.equal(await answer.text(), 'the app', path);
  }
  assert.match(await timeIn(await app.fetch(new Request(`${CLOCK_URL}?x=1`))), /^\d{4}-/);
});

test('sweeps never overlap, and no call goes without a sweep', async () => {
  let running = 0;
  let sweeps = 0;
  const sweeping = startSweeping(
    async () => {
      assert.equal(++running, 1);
      sweeps++;
      await Promise.resolve();
      running--;
    },
    HOUR_MS,
    throwError,
  );
  const first = sweeping.now();
  const joined = sweeping.now();
  await first;
  await Promise.all([joined, sweeping.now()]);
  await sweeping.stop();
  assert.equal(sweeps, 2);
});

test('a call rejects with the error of its sweep, and the next sweep still comes', async () => {
  let sweeps = 0;
  const sweeping = startSweeping(
    async () => {
      if (++sweeps === 1) throw new Error('no engine');
    },
    HOUR_MS,
    throwError,
  );
  await assert.rejects(sweeping.now(), /no engine/);
  await sweeping.now();
  await sweeping.stop();
});

function clockApp(afterMove: () => Promise<void> = async () => {}) {
  const clock = new MovableClock();
  const unexpected = () => Promise.reject(new Error('These tests only move the clock.'));
  const own = {
    name: 'own',
    clock,
    sweep: afterMove,
    reset: unexpected,
    configure: unexpected,
  };
  const app = withControlRoutes(
    { fetch: () => new Response('the app') },
    {
      namespaces: {
        own,
        running: [own],
        enter: () => ({ namespace: own, end: () => {} }),
        keep: () => {},
        delete: unexpected,
      },
      authorize: async () => undefined,
      config: CONFIG,
      reportError: throwError,
    },
  );
  const post = async (body: unknown) =>
    app.fetch(
      new Request(CLOCK_URL, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  return { clock, app, post };
}

async function timeIn(response: Response): Promise<string> {
  const { now } = (await response.json()) as { readonly now: string };
  return now;
}

function throwError(error: unknown): void {
  throw error;
}
