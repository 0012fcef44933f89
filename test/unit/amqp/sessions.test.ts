import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLimits } from '../../../amqp/endpoint/connection-limits.ts';
import type { OutgoingLink } from '../../../amqp/endpoint/outgoing-link.ts';
import { Session } from '../../../amqp/endpoint/session.ts';
import type { Attach, Performative } from '../../../amqp/wire/performatives.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';

const ignore = () => {};

/** A session whose frames and links are recorded. */
function openSession() {
  const intake = { pause: ignore, resume: ignore };
  const limits = new ConnectionLimits(new MemoryBudget(1e9), intake, ignore);
  limits.authorize();
  const said: Performative[] = [];
  const links: OutgoingLink[] = [];
  const steps: (() => boolean)[] = [];
  const host = {
    limits,
    maxFrameSize: 65_536,
    send: (_channel: number, performative: Performative) => void said.push(performative),
    linked: (link: unknown) => void links.push(link as OutgoingLink),
    close: ignore,
    outgoing: { mayWrite: () => true, forget: ignore },
    runInSteps: (step: () => boolean) => void steps.push(step),
  };
  const windows = { nextOutgoingId: 0, incomingWindow: 9, outgoingWindow: 9 };
  const session = new Session(0, { kind: 'begin', ...windows }, host);
  const say = (performative: Performative) => session.handle(performative, Buffer.alloc(0), 0);
  return { say, said, links, steps, limits };
}

const attach = (name: string, handle: number, role: Attach['role'] = 'receiver'): Attach => ({
  kind: 'attach',
  name,
  handle,
  role,
});

test('the name of a new link is compared with few others', () => {
  const { say } = openSession();
  const count = 200;
  let reads = 0;
  for (let handle = 0; handle < count; handle++) {
    const attached = attach('', handle);
    Object.defineProperty(attached, 'name', {
      get: () => {
        reads++;
        return `link-${handle}`;
      },
    });
    say(attached);
  }
  assert.ok(reads <= 5 * count, `${reads} reads of names`);
});

test('a new link with the same name ends only the older link of the same direction', () => {
  const { say, said, links } = openSession();
  say(attach('l', 0));
  say(attach('l', 1, 'sender'));
  for (const link of links) link.accept();
  say(attach('l', 2));
  const stolen = said.filter(({ kind }) => kind === 'detach');
  assert.deepEqual(
    stolen.map((one) => one.kind === 'detach' && [one.handle, one.error?.condition]),
    [[0, 'amqp:link:stolen']],
  );
  links[2]?.accept();
  say({ kind: 'detach', handle: 0, closed: true });
  say(attach('l', 3));
  assert.deepEqual(said.filter(({ kind }) => kind === 'detach').length, 2);
});

test('a new link steals a name also from an older link that was answered later', () => {
  const { say, said, links } = openSession();
  for (const handle of [0, 1]) say(attach('l', handle));
  for (const link of links) link.accept();
  say(attach('l', 2));
  assert.equal(said.filter(({ kind }) => kind === 'detach').length, 2);
});

/** A session whose peer receives messages on a link; records for which of them it sent an outcome. */
function receivingSession(count: number) {
  const session = openSession();
  const { say, links } = session;
  say(attach('l', 0));
  const [link] = links;
  assert.ok(link !== undefined);
  link.accept();
  const windows = { nextIncomingId: 0, incomingWindow: count, nextOutgoingId: 0 };
  say({ kind: 'flow', ...windows, outgoingWindow: 9, handle: 0, linkCredit: count });
  const told: number[] = [];
  link.onDisposition(({ id }) => told.push(id));
  const tag = Buffer.alloc(16);
  const deliver = () => link.deliver({ tag, payload: tag, settled: false });
  return { ...session, link, told, tag, deliver };
}

test('a disposition of many deliveries is applied in steps, except to those settled meanwhile', () => {
  const { deliveriesPerFrame } = BUDGETS.connection;
  const count = 3 * deliveriesPerFrame;
  const { say, link, told, tag, deliver, steps } = receivingSession(count);
  for (let i = 0; i < count; i++) deliver();
  const state = { kind: 'accepted' } as const;
  say({ kind: 'disposition', role: 'receiver', first: 0, last: count - 1, settled: false, state });
  const [step] = steps;
  assert.ok(step !== undefined && steps.length === 1);
  assert.equal(step(), false);
  assert.equal(told.length, deliveriesPerFrame);
  const settled = count - 1;
  link.settle([{ id: settled, tag }], state);
  assert.deepEqual([step(), told.length], [false, 2 * deliveriesPerFrame]);
  while (!step());
  assert.deepEqual(told, [...Array(settled).keys()]);
});

for (const [what, first, last] of [
  ['two', 1, 2],
  ['billions of', 1, 0xffff_ffff],
] as const) {
  test(`a disposition of ${what} ids applies only to deliveries sent before it`, () => {
    const { say, deliver, told, steps } = receivingSession(5);
    for (let i = 0; i < 2; i++) deliver();
    say({ kind: 'disposition', role: 'receiver', first, last, settled: true });
    deliver();
    const [step] = steps;
    while (step?.() === false);
    assert.deepEqual(told, [1]);
  });
}

test('the deliveries of a link that has ended are forgotten in steps', () => {
  const { deliveriesPerFrame } = BUDGETS.connection;
  const count = 3 * deliveriesPerFrame;
  const { say, deliver, steps, limits } = receivingSession(count);
  for (let i = 0; i < count; i++) deliver();
  say({ kind: 'detach', handle: 0, closed: true });
  const held = limits.held;
  const [step] = steps;
  assert.ok(step !== undefined && steps.length === 1);
  const each = BUDGETS.weights.deliveryBytes;
  assert.deepEqual([step(), held - limits.held], [false, deliveriesPerFrame * each]);
  while (!step());
  assert.equal(held - limits.held, count * each);
});
