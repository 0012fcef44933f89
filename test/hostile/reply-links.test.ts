import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLimits } from '../../amqp/endpoint/connection-limits.ts';
import { IncomingLink } from '../../amqp/endpoint/incoming-link.ts';
import { OutgoingLink, type SendingHost } from '../../amqp/endpoint/outgoing-link.ts';
import { Replies } from '../../amqp/requests/replies.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';

const ignore = () => {};
const LINKS = 2000;

/** A session that records the links on which it sends transfers. */
function hostOf(limits: ConnectionLimits): { readonly host: SendingHost; readonly sent: number[] } {
  const sent: number[] = [];
  const host: SendingHost = {
    limits,
    send: ignore,
    flow: ignore,
    forget: ignore,
    settled: ignore,
    afterTransfers: ignore,
    transfer: (link) => sent.push(link.attach.handle),
  };
  return { host, sent };
}

const limitsOf = (bytes: number) => {
  const limits = new ConnectionLimits(
    new MemoryBudget(bytes),
    { pause: ignore, resume: ignore },
    ignore,
  );
  limits.authorize();
  return limits;
};

const attach = (handle: number, role: 'sender' | 'receiver') =>
  ({ kind: 'attach', name: `l${handle}`, handle, role }) as const;

/** A link that counts how often its session is read, as every look at it does. */
class CountedLink extends OutgoingLink {
  static looks = 0;

  override get session(): object {
    CountedLink.looks++;
    return super.session;
  }
}

test('row 3: the response to a request without reply-to finds its link among thousands by the node', () => {
  const { host, sent } = hostOf(limitsOf(1e9));
  const replies = new Replies();
  for (let handle = 0; handle < LINKS; handle++) {
    const link = new CountedLink(attach(handle, 'receiver'), host, 0);
    replies.add(link, `node-${handle}`);
    link.flowed({
      kind: 'flow',
      handle,
      linkCredit: 10,
      incomingWindow: 1,
      nextOutgoingId: 0,
      outgoingWindow: 1,
    });
  }
  CountedLink.looks = 0;
  const link = new IncomingLink(attach(LINKS, 'sender'), host, 0);
  replies.send({ link, node: 'node-7' }, undefined, Buffer.from('answer'));
  assert.deepEqual(sent, [7]);
  assert.ok(CountedLink.looks <= 1, `${CountedLink.looks} links were looked at`);
});

test('row 3: unread responses count in memory, and the oldest is dropped for a new one', () => {
  const { connectionBytes } = BUDGETS.weights;
  const limits = limitsOf(8 * connectionBytes);
  limits.hold(7 * connectionBytes - 1000);
  const { host, sent } = hostOf(limits);
  const replies = new Replies();
  replies.add(new OutgoingLink(attach(0, 'receiver'), host, 0), 'node');
  const link = new IncomingLink(attach(1, 'sender'), host, 0);
  const empty = limits.held;
  for (let i = 0; i < 50; i++) replies.send({ link, node: 'node' }, undefined, Buffer.alloc(100));
  assert.ok(limits.held - empty <= 1000);
  assert.ok(limits.held - empty > 500);
  assert.deepEqual(sent, []);
});
