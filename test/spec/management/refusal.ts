import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import type { Answer, RequestOptions } from '../../support/api-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/** The messages before bad requests: an available and a locked one in `q`, and a locked one in `other`. */
export interface Scene {
  readonly broker: TestBroker;
  readonly held: Received;
  readonly stranger: Received;
}

/** A bad request and the refusal it must meet. */
export interface Row {
  readonly what: string;
  readonly method: string;
  readonly path: string | ((scene: Scene) => string);
  readonly options?: RequestOptions | ((scene: Scene) => RequestOptions);
  readonly status: number;
  readonly code: string;
  readonly sentence: RegExp;
}

const GUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/**
 * Each row is refused in the standard form, in a test of its own, and loses no message. In `npm test` the rows share
 * a namespace, whose messages are checked after the last one; if any is lost, each row is repeated alone, which
 * names the guilty one. In `npm run test:more` each has a namespace of its own.
 */
export function testRefusals(rows: readonly Row[]): void {
  test('#157 #B2 bad requests are refused, and nothing is lost', async (t) => {
    if (isMore()) return testEachAlone(t, rows);
    const scene = await startScene(t);
    for (const row of rows) {
      await t.test(nameOf(row), async () => requireRow(await ask(scene, row), row));
    }
    try {
      await requireNothingLost(scene);
    } catch (error) {
      await testEachAlone(t, rows);
      throw error;
    }
  });
}

async function testEachAlone(t: TestContext, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    await t.test(`${nameOf(row)}, and nothing is lost`, async (t) => {
      const scene = await startScene(t);
      requireRow(await ask(scene, row), row);
      await requireNothingLost(scene);
    });
  }
}

function nameOf({ what, status, code }: Row): string {
  return `#157 #B2 ${what} is refused with ${status} ${code}`;
}

async function ask(scene: Scene, { method, path, options }: Row): Promise<Answer> {
  return await scene.broker.request(
    method,
    typeof path === 'string' ? path : path(scene),
    typeof options === 'function' ? options(scene) : options,
  );
}

async function startScene(t: TestContext): Promise<Scene> {
  const broker = await startBroker(t);
  for (const name of ['q', 'other']) expectStatus(await broker.createQueue(name), 201);
  expectStatus(await broker.sendBatch('q', [{ Body: 'held' }, { Body: 'free' }]), 201);
  expectStatus(await broker.sendBatch('other', [{ Body: 'held' }]), 201);
  return { broker, held: await lock(broker, 'q'), stranger: await lock(broker, 'other') };
}

function requireRow(answer: Answer, { status, code, sentence }: Row): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('x-dynabus-error'), code);
  assert.equal(answer.headers.get('x-dynabus-retryable'), 'false');
  assert.match(sentenceOf(answer), sentence);
}

/** The sentence of a refusal, after checks of everything around it. */
function sentenceOf(answer: Answer): string {
  if (answer.headers.get('content-type') === 'application/json') {
    const { error } = answer.json<{ error: Record<string, unknown> }>();
    const { message, subCode, ...rest } = error;
    const printed = /^(?:SubCode=)?(\d{5})[.:] /.exec(String(message))?.[1];
    if (printed !== undefined) assert.equal(subCode, printed);
    assert.match(String(rest['trackingId']), new RegExp(`^${GUID}$`));
    assert.deepEqual(rest, {
      code: answer.headers.get('x-dynabus-error'),
      trackingId: rest['trackingId'],
      retryable: false,
      timestamp: '2026-01-01T00:00:00',
    });
    return withoutSubCode(String(message), answer.status);
  }
  assert.equal(answer.headers.get('content-type'), 'application/xml; charset=utf-8');
  const match = new RegExp(
    `^<Error><Code>${answer.status}</Code><Detail>(.*) TrackingId:${GUID}_G0, SystemTracker:[^ ]*, Timestamp:2026-01-01T00:00:00</Detail></Error>$`,
  ).exec(answer.text);
  assert.ok(match, answer.text);
  return withoutSubCode(match[1] ?? '', answer.status);
}

/** A subcode begins with the status, in one of the two forms of the service. */
function withoutSubCode(detail: string, status: number): string {
  return detail.replace(new RegExp(`^(?:SubCode=${status}\\d\\d\\.|${status}\\d\\d:) `), '');
}

async function lock(broker: TestBroker, path: string): Promise<Received> {
  const message = await broker.peekLock(path);
  assert.ok(message);
  return message;
}

async function requireNothingLost({ broker, held, stranger }: Scene): Promise<void> {
  assert.equal(await broker.complete(held), 200);
  assert.equal(await broker.complete(stranger), 200);
  const rest = await broker.receiveAndDeleteMany('q', 100);
  assert.deepEqual(
    rest.map(({ body, broker: { DeliveryCount } }) => [body, DeliveryCount]),
    [['free', 1]],
  );
  for (const path of ['q/$deadletterqueue', 'other']) {
    assert.deepEqual(await broker.receiveAndDeleteMany(path, 100), []);
  }
}

/** Checks that a request was refused with a status, a sentence and a tracking id. */
export function requireRefusal(answer: Answer, status: number, sentence: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, sentence);
  assert.match(answer.text, /trackingId/i);
}
