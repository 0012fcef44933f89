import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type AdministrationClient, withAdministration } from './admin-clients.ts';

/** What the client makes of a status, and what its message must say. */
interface Refusal {
  readonly what: string;
  readonly attempt: (client: AdministrationClient) => Promise<unknown>;
  readonly statusCode: number;
  readonly code: string;
  readonly says: RegExp;
}

const ANY = { sqlExpression: 'a = 1' };
const MISSING = { statusCode: 404, code: 'MessageEntityNotFoundError', says: /could not be found/ };
const NOT_HOSTED = { ...MISSING, says: /^No service is hosted at the specified address/ };
const THERE = {
  statusCode: 409,
  code: 'MessageEntityAlreadyExistsError',
  says: /SubCode=40900\. .*already exists/,
};
const bad = (says: RegExp) => ({ statusCode: 400, code: 'ServiceError', says });

const REFUSALS: readonly Refusal[] = [
  { what: 'to create a queue twice', attempt: (c) => c.createQueue('q'), ...THERE },
  { what: 'to create a queue named as a topic', attempt: (c) => c.createQueue('T'), ...THERE },
  { what: 'to create a topic named as a queue', attempt: (c) => c.createTopic('q'), ...THERE },
  {
    what: 'to create a subscription twice',
    attempt: (c) => c.createSubscription('t', 'S'),
    ...THERE,
  },
  { what: 'to create a rule twice', attempt: (c) => c.createRule('t', 's', 'R', ANY), ...THERE },
  { what: 'to get a missing queue', attempt: (c) => c.getQueue('nope'), ...MISSING },
  { what: 'to get a missing topic', attempt: (c) => c.getTopic('nope'), ...MISSING },
  {
    what: 'to get a missing subscription',
    attempt: (c) => c.getSubscription('t', 'nope'),
    ...MISSING,
  },
  { what: 'to get a missing rule', attempt: (c) => c.getRule('t', 's', 'nope'), ...MISSING },
  {
    what: 'to get runtime properties of a missing queue',
    attempt: (c) => c.getQueueRuntimeProperties('nope'),
    ...MISSING,
  },
  { what: 'to delete a missing queue', attempt: (c) => c.deleteQueue('nope'), ...NOT_HOSTED },
  { what: 'to delete a missing rule', attempt: (c) => c.deleteRule('t', 's', 'nope'), ...MISSING },
  {
    what: 'to subscribe to a missing topic',
    attempt: (c) => c.createSubscription('nope', 's'),
    ...MISSING,
  },
  { what: 'to subscribe to a queue', attempt: (c) => c.createSubscription('q', 's'), ...MISSING },
  {
    what: 'to list subscriptions of a missing topic',
    attempt: (c) => c.listSubscriptions('nope').next(),
    ...MISSING,
  },
  {
    what: 'to list rules of a missing subscription',
    attempt: (c) => c.listRules('t', 'nope').next(),
    ...MISSING,
  },
  {
    what: 'to update a queue that was deleted',
    attempt: async (c) => {
      const queue = await c.createQueue('deleted');
      await c.deleteQueue('deleted');
      await c.updateQueue(queue);
    },
    ...MISSING,
  },
  {
    what: 'to update a rule that was deleted',
    attempt: async (c) => {
      const rule = await c.createRule('t', 's', 'deleted', ANY);
      await c.deleteRule('t', 's', 'deleted');
      await c.updateRule('t', 's', rule);
    },
    ...MISSING,
  },
  {
    what: 'to make a queue require sessions later',
    attempt: async (c) => c.updateQueue({ ...(await c.getQueue('q')), requiresSession: true }),
    ...bad(/The value for the 'requiresSession' property of an existing Queue can't be changed\./),
  },
  {
    what: 'to make a topic partitioned later',
    attempt: async (c) => c.updateTopic({ ...(await c.getTopic('t')), enablePartitioning: true }),
    ...bad(/Partitioning can't be changed for Queue\/Topic\./),
  },
  {
    what: 'a lock of six minutes',
    attempt: (c) => c.createQueue('x', { lockDuration: 'PT6M' }),
    ...bad(/SubCode=40000\. The supplied lock time exceeds the allowed maximum of '5' minutes\./),
  },
  {
    what: 'an idle time of four minutes',
    attempt: (c) => c.createTopic('x', { autoDeleteOnIdle: 'PT4M' }),
    ...bad(/'PT4M' of the 'autoDeleteOnIdle' property is below the minimum of 'PT5M'/),
  },
  {
    what: 'no deliveries at all',
    attempt: (c) => c.createQueue('x', { maxDeliveryCount: 0 }),
    ...bad(/'0' of the 'maxDeliveryCount' property/),
  },
  {
    what: 'thirteen authorization rules',
    attempt: (c) => c.createQueue('x', { authorizationRules: authorizationRules(13) }),
    ...bad(/13 authorization rules were given; the limit is 12/),
  },
  {
    what: 'a name with a space',
    attempt: (c) => c.createQueue('a b'),
    ...bad(/can contain only letters, numbers, periods/),
  },
  {
    what: 'to forward to itself before it is there',
    attempt: (c) => c.createQueue('x', { forwardTo: 'X' }),
    ...bad(/The auto forwarding destination entity doesn't exist/),
  },
  {
    what: 'to forward a subscription to its own topic',
    attempt: (c) => c.createSubscription('t', 'x', { forwardTo: 't' }),
    ...bad(/Entity cannot have auto-forwarding policy to itself/),
  },
  {
    what: 'to forward to a missing entity',
    attempt: (c) => c.createQueue('x', { forwardTo: 'nope' }),
    ...bad(/SubCode=40400\. The auto forwarding destination entity doesn't exist\./),
  },
  {
    what: 'to create a dead-letter queue',
    attempt: (c) => c.createQueue('q/$DeadLetterQueue'),
    ...bad(/comes and goes with its entity/),
  },
  {
    what: 'to delete a dead-letter queue',
    attempt: (c) => c.deleteQueue('q/$DeadLetterQueue'),
    ...bad(/comes and goes with its entity/),
  },
  {
    what: 'a filter that cannot be read',
    attempt: (c) => c.createRule('t', 's', 'x', { sqlExpression: 'a = = 1' }),
    ...bad(/The expression of the filter is not valid/),
  },
  {
    what: 'an action that cannot be read',
    attempt: (c) => c.createRule('t', 's', 'x', ANY, { sqlExpression: 'DROP a' }),
    ...bad(/The expression of the action is not valid/),
  },
  {
    what: 'a filter of more than 1024 characters',
    attempt: (c) => c.createRule('t', 's', 'x', { sqlExpression: `a = '${'x'.repeat(1024)}'` }),
    ...bad(/1030 characters long; 1024/),
  },
];

withAdministration('what must be refused', (connected) => {
  before(async () => {
    const { client } = connected;
    await client.createQueue('q');
    await client.createTopic('t');
    await client.createSubscription('t', 's');
    await client.createRule('t', 's', 'r', ANY);
  });

  for (const { what, attempt, statusCode, code, says } of REFUSALS) {
    test(what, async () => {
      await assert.rejects(attempt(connected.client), (error: unknown) => {
        assert.ok(error instanceof Error);
        assert.match(error.message, says);
        assert.match(error.message, /TrackingId:[0-9a-f-]{36}_G0, SystemTracker:.*, Timestamp:/);
        assert.deepEqual({ ...error, statusCode, code }, { ...error });
        return true;
      });
    });
  }
});

function authorizationRules(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    claimType: 'SharedAccessKey',
    keyName: `rule${i}`,
    accessRights: ['Send' as const],
    primaryKey: 'A'.repeat(44),
    secondaryKey: 'B'.repeat(44),
  }));
}
