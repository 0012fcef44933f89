import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { cacheRootKeys, type RootKeys } from '../../shared/auth/root-key.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { RawAmqp } from '../support/raw-amqp.ts';
import { RawSession, targetOf } from '../support/raw-session.ts';
import { ROOT_KEY, startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';

/** The processes of a deployment each cache the root keys, while an operator changes the secret. */

const KEY_NAME = 'RootManageSharedAccessKey';
const HOUR_MS = 3_600_000;
const { readAgainMs, keptMs, changes } = BUDGETS.rootKey;

/** A secret as in Secrets Manager: the current version and the one before. */
class Secret {
  readonly #versions = [ROOT_KEY];
  isAway = false;
  reads = 0;

  /** As `aws secretsmanager put-secret-value` does. */
  put(key: string): void {
    this.#versions.unshift(key);
  }

  async read(): Promise<RootKeys> {
    this.reads++;
    if (this.isAway) throw new Error('Secrets Manager does not answer.');
    const [primary = '', secondary = primary] = this.#versions;
    return { primary, secondary };
  }
}

interface Process {
  readonly broker: TestBroker;
  /** Advances only its monotonic clock. */
  readonly passTime: (ms: number) => void;
}

async function start(t: TestContext, count: number) {
  const secret = new Secret();
  const clock = new ManualClock();
  const faults: unknown[] = [];
  const processes: Process[] = [];
  for (let i = 0; i < count; i++) {
    let monotonicMs = 0;
    const rootKey = cacheRootKeys({
      read: () => secret.read(),
      ages: new AgeClock(clock, () => monotonicMs),
      reportFault: (fault) => faults.push(fault),
    });
    const beside = processes[0]?.broker;
    const options = { clock, rootKey };
    const broker = await startBroker(t, beside === undefined ? options : { ...options, beside });
    const passTime = (ms: number) => {
      monotonicMs += ms;
    };
    processes.push({ broker, passTime });
  }
  const [first = assert.fail()] = processes;
  expectStatus(await first.broker.createQueue('q'), 201);
  return { secret, clock, faults, processes };
}

const tokenOf = (key: string, audience: string, clock: ManualClock) =>
  createSasToken({ audience, keyName: KEY_NAME, key, expiresAt: clock.now() + 10 * HOUR_MS });

/** The status of an HTTP request with a token of a key. */
async function statusOverHttp({ api, clock }: TestBroker, key: string): Promise<number> {
  const authorization = tokenOf(key, api.url, clock);
  return (await fetch(`${api.url}/q/messages`, { headers: { authorization } })).status;
}

/** Whether a token of a key is accepted over AMQP. */
async function isGoodOverAmqp({ api, clock }: TestBroker, key: string): Promise<boolean> {
  const port = Number(new URL(api.url).port);
  const session = new RawSession(RawAmqp.opened(port, 'ANONYMOUS'));
  const status = await session.putToken(tokenOf(key, 'sb://localhost/', clock), 'sb://localhost/');
  session.raw.destroy();
  return status === 202;
}

test('right after a change of the root key, every process accepts the old and the new key', async (t) => {
  const { secret, processes } = await start(t, 3);
  for (const { broker } of processes) assert.equal(await statusOverHttp(broker, ROOT_KEY), 200);
  secret.put('second');
  for (const { broker } of processes) {
    assert.equal(
      await statusOverHttp(broker, ROOT_KEY),
      200,
      'the old key, before the process reads the new one',
    );
    assert.equal(await statusOverHttp(broker, 'second'), 200, 'the new key');
    assert.equal(await statusOverHttp(broker, ROOT_KEY), 200, 'the old key');
  }
  assert.equal(secret.reads, 2 * processes.length);
});

test('over AMQP, too, the new key is accepted at once and the old one still is', async (t) => {
  const { secret, processes } = await start(t, 2);
  for (const { broker } of processes) assert.ok(await isGoodOverAmqp(broker, ROOT_KEY));
  secret.put('second');
  for (const { broker } of processes) {
    const port = Number(new URL(broker.api.url).port);
    const plain = new RawSession(RawAmqp.authenticated(port, KEY_NAME, 'second'));
    await plain.sender(targetOf('q'));
    plain.raw.destroy();
    for (const key of ['second', ROOT_KEY]) assert.ok(await isGoodOverAmqp(broker, key), key);
  }
});

test('after two changes a leaked key is refused: at once in a process that sees the newest key, within five minutes in all', async (t) => {
  const { secret, clock, processes } = await start(t, 2);
  const [used, unused] = processes.map(({ broker }) => broker);
  assert.ok(used && unused);
  for (const broker of [used, unused]) assert.equal(await statusOverHttp(broker, ROOT_KEY), 200);
  secret.put('second');
  secret.put('third');
  assert.equal(await statusOverHttp(used, 'third'), 200);
  assert.equal(await statusOverHttp(used, ROOT_KEY), 401);
  clock.advance({ ms: readAgainMs - 1 });
  assert.equal(await statusOverHttp(unused, ROOT_KEY), 200, 'it has not read the change yet');
  clock.advance({ ms: 1 });
  assert.equal(await statusOverHttp(unused, ROOT_KEY), 401);
  for (const broker of [used, unused]) {
    for (const key of ['second', 'third']) assert.equal(await statusOverHttp(broker, key), 200);
  }
});

test('a flood of bad signatures causes few reads of the secret, and valid clients keep working', async (t) => {
  const { secret, processes } = await start(t, 1);
  const [{ broker, passTime } = assert.fail()] = processes;
  assert.equal(secret.reads, 1);
  const flood = () =>
    Promise.all(Array.from({ length: 100 }, (_, i) => statusOverHttp(broker, `guess ${i}`)));
  for (let i = 0; i < 5; i++) {
    const [statuses, honest] = await Promise.all([flood(), statusOverHttp(broker, ROOT_KEY)]);
    assert.deepEqual([new Set(statuses), honest], [new Set([401]), 200]);
  }
  assert.equal(secret.reads, 1 + changes.burst);
  secret.put('second');
  assert.equal(await statusOverHttp(broker, ROOT_KEY), 200);
  // The new key is accepted after the next read that the rate limit allows.
  assert.equal(await statusOverHttp(broker, 'second'), 401);
  passTime(1000 / changes.perSecond);
  assert.equal(await statusOverHttp(broker, 'second'), 200);
  assert.equal(secret.reads, 2 + changes.burst);
});

test('while Secrets Manager does not answer, the cached keys are accepted for an hour and a newer key is refused', async (t) => {
  const { secret, clock, faults, processes } = await start(t, 2);
  secret.put('second');
  for (const { broker } of processes) assert.equal(await statusOverHttp(broker, 'second'), 200);
  secret.put('third');
  secret.isAway = true;
  clock.advance({ ms: keptMs - 1 });
  for (const { broker } of processes) {
    for (const key of ['second', ROOT_KEY]) assert.equal(await statusOverHttp(broker, key), 200);
    assert.equal(await statusOverHttp(broker, 'third'), 401);
  }
  assert.match(String(faults[0]), /The root key cannot be read again/);
  clock.advance({ ms: 1 });
  for (const { broker } of processes) assert.equal(await statusOverHttp(broker, 'second'), 503);
  secret.isAway = false;
  clock.advance({ ms: BUDGETS.rootKey.retryMs });
  for (const { broker } of processes) {
    assert.equal(await statusOverHttp(broker, 'third'), 200);
    assert.equal(await statusOverHttp(broker, ROOT_KEY), 401);
  }
});
