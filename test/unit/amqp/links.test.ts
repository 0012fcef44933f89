import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLimits } from '../../../amqp/endpoint/connection-limits.ts';
import { OutgoingLink } from '../../../amqp/endpoint/outgoing-link.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';

const WINDOWS = { nextOutgoingId: 0, incomingWindow: 9, outgoingWindow: 9 };
const UINT_MAX = 0xffff_ffff;

/** A link whose messages are dropped. */
function openLink(): OutgoingLink {
  const ignore = () => {};
  const host = {
    send: ignore,
    flow: ignore,
    forget: ignore,
    transfer: () => 0,
    settled: ignore,
    afterTransfers: ignore,
    limits: new ConnectionLimits(new MemoryBudget(1e9), { pause: ignore, resume: ignore }, ignore),
  };
  const link = new OutgoingLink(
    { kind: 'attach', name: 'l', handle: 0, role: 'receiver' },
    host,
    0,
  );
  link.accept();
  return link;
}

function flow(link: OutgoingLink, linkCredit: number, deliveryCount?: number): void {
  link.flowed({
    kind: 'flow',
    ...WINDOWS,
    linkCredit,
    ...(deliveryCount === undefined ? {} : { deliveryCount }),
  });
}

test('credit counts from the delivery count of the peer', () => {
  const link = openLink();
  flow(link, 5);
  link.deliver({ tag: Uint8Array.of(1), payload: Uint8Array.of(), settled: true });
  assert.equal(link.credit, 4);
  flow(link, 5, 0);
  assert.equal(link.credit, 4, 'the peer had not seen the message yet');
  flow(link, 5, 1);
  assert.equal(link.credit, 5);
});

test('a peer may grant the largest credit there is', () => {
  const link = openLink();
  flow(link, UINT_MAX);
  assert.equal(link.credit, UINT_MAX);
  link.deliver({ tag: Uint8Array.of(1), payload: Uint8Array.of(), settled: true });
  flow(link, UINT_MAX, 1);
  assert.equal(link.credit, UINT_MAX);
});

test('the credit of a peer with a wrong delivery count fits into its field', () => {
  const link = openLink();
  flow(link, UINT_MAX, 120);
  assert.equal(link.credit, UINT_MAX);
});
