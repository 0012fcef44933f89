import assert from 'node:assert/strict';
import type { SettlementRequest } from '../../support/test-broker.ts';
import type { Delivery, ModelAction, Outcome } from './model-message.ts';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';
import { msOf, pick, pickMany, type Span, type Step, step } from './step.ts';

/** How to settle a message, with times relative to now. */
export interface Settling {
  readonly kind: 'complete' | 'abandon' | 'defer' | 'deadLetter';
  readonly delay?: Span | undefined;
  /** The value of a property that the settlement sets. */
  readonly mark?: number | undefined;
  readonly reason?: string | undefined;
}

/** Settles one of the latest deliveries, by the URL of its lock where possible. */
export function settle(drawn: number, settling: Settling): Step {
  return step(
    `${print(settling)} of ${drawn}`,
    (model) => model.deliveries.length > 0,
    async (model, client) => {
      const delivery = choose(model, drawn);
      const expected = model.settle(delivery, actionOf(model, settling));
      const outcome = await settleOne(client, model, delivery, settling);
      assert.equal(outcome, expected, `settling ${delivery.message.id}`);
      return `${delivery.message.id} ${outcome}`;
    },
  );
}

async function settleOne(
  client: QueueClient,
  model: QueueModel,
  delivery: Delivery,
  settling: Settling,
): Promise<string> {
  const { kind, delay, mark } = settling;
  const { location, place } = delivery;
  const hasAddress = kind === 'complete' || kind === 'abandon';
  if (location !== undefined && hasAddress && delay === undefined && mark === undefined) {
    const method = kind === 'complete' ? 'DELETE' : 'PUT';
    const { status } = await client.broker.request(method, location);
    return status === 200 ? 'done' : status === 404 ? 'MessageLockLost' : `status ${status}`;
  }
  const [outcome] = await client.settle(place, [requestOf(model, delivery, settling)]);
  return outcome?.settled ? 'done' : String(outcome?.error?.code);
}

/** Settles several deliveries in one call; each has its own outcome. */
export function settleMany(
  place: 'main' | 'dead',
  drawn: readonly number[],
  settlings: readonly Settling[],
): Step {
  return step(
    `settleMany(${place} ${settlings.map(print).join(' ')} of ${drawn.join(' ')})`,
    (model) => model.deliveries.some((delivery) => delivery.place === place),
    async (model, client) => {
      const all = model.deliveries.filter((delivery) => delivery.place === place);
      const chosen = pickMany(all.slice(-10), drawn).map((delivery, i) => ({
        delivery,
        settling: pick(settlings, i),
      }));
      const requests = chosen.map(({ delivery, settling }) => requestOf(model, delivery, settling));
      const expected = chosen.map(({ delivery, settling }): [string, Outcome] => [
        delivery.message.id,
        model.settle(delivery, actionOf(model, settling)),
      ]);
      const outcomes = await client.settle(place, requests);
      const shown = outcomes.map(({ settled, error }, i) => [
        chosen[i]?.delivery.message.id,
        settled ? 'done' : error?.code,
      ]);
      assert.deepEqual(shown, expected);
      return shown.flat().join(' ');
    },
  );
}

/** Renews the locks of several deliveries, or one lock by its URL. */
export function renew(drawn: readonly number[]): Step {
  return step(
    `renew(${drawn.join(' ')})`,
    (model) => model.deliveries.length > 0,
    async (model, client) => {
      const { place } = choose(model, drawn[0] ?? 0);
      const all = model.deliveries.filter((delivery) => delivery.place === place);
      const chosen = pickMany(all.slice(-10), drawn);
      const until = new Date(model.now + model.settings.lockMs).toUTCString();
      const expected = chosen.map((delivery) => {
        const outcome = model.renew(delivery);
        return outcome === 'done' ? until : outcome;
      });
      const [only] = chosen;
      const outcomes =
        chosen.length === 1 && only?.location !== undefined
          ? [await renewByAddress(client, only.location)]
          : await renewMany(client, place, chosen);
      assert.deepEqual(outcomes, expected);
      return chosen.map(({ message }, i) => `${message.id} ${outcomes[i]}`).join(' ');
    },
  );
}

async function renewByAddress(client: QueueClient, location: string): Promise<string> {
  const answer = await client.broker.request('POST', location);
  if (answer.status === 404) return 'MessageLockLost';
  assert.equal(answer.status, 200);
  const header = answer.headers.get('brokerproperties') ?? '{}';
  return String((JSON.parse(header) as { LockedUntilUtc?: string }).LockedUntilUtc);
}

async function renewMany(
  client: QueueClient,
  place: 'main' | 'dead',
  chosen: readonly Delivery[],
): Promise<readonly string[]> {
  const lockTokens = chosen.map(({ token }) => token);
  const answer = await client.call(place, 'renew', { lockTokens });
  assert.equal(answer.status, 200, answer.text);
  const { renewals } = answer.json<{
    renewals: { lockedUntilUtc?: string; error?: { code: string } }[];
  }>();
  return renewals.map(({ lockedUntilUtc, error }) => lockedUntilUtc ?? String(error?.code));
}

/** One of the latest deliveries, because earlier ones are mostly settled. */
function choose(model: QueueModel, drawn: number): Delivery {
  return pick(model.deliveries.slice(-6), drawn);
}

function actionOf(model: QueueModel, { kind, delay, mark, reason }: Settling): ModelAction {
  const marked = mark === undefined ? {} : { mark };
  switch (kind) {
    case 'complete':
      return { kind };
    case 'abandon':
      return { kind, ...marked, delayMs: delay === undefined ? 0 : msOf(delay, model.settings) };
    case 'defer':
      return { kind, ...marked };
    case 'deadLetter':
      return { kind, ...marked, ...(reason === undefined ? {} : { reason }) };
  }
}

function requestOf(
  { settings }: QueueModel,
  { token }: Delivery,
  { kind, delay, mark, reason }: Settling,
): SettlementRequest {
  return {
    lockToken: token,
    outcome: kind,
    ...(mark === undefined || kind === 'complete' ? {} : { properties: { mark } }),
    ...(kind === 'abandon' && delay !== undefined
      ? { delaySeconds: msOf(delay, settings) / 1000 }
      : {}),
    ...(kind === 'deadLetter' && reason !== undefined ? { deadLetterReason: reason } : {}),
  };
}

function print({ kind, delay, mark, reason }: Settling): string {
  const options = [
    kind === 'abandon' && delay !== undefined ? `delay ${delay}` : '',
    mark !== undefined && kind !== 'complete' ? `mark ${mark}` : '',
    kind === 'deadLetter' && reason !== undefined ? `reason ${reason}` : '',
  ].filter((text) => text !== '');
  return `${kind}(${options.join(' ')})`;
}
