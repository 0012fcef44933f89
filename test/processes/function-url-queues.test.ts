import { registerSpecs } from '../support/spec-modes.ts';

/**
 * Runs specs as a stage with the endpoint `functionUrl` runs: each request is an event of a function URL, which the
 * function answers by a result. `npm test` runs the specs in which paths, headers and bodies are unusual, and
 * `npm run test:more` all those that look at what a client sees. The others count units and lose writes, which is the
 * same behind each endpoint.
 */

const USUAL = [
  'exact-messages',
  'names',
  'peek-lock',
  'rest-properties',
  'rest-wire',
  'settle-tokens',
] as const;

const SPECS = {
  access: () => import('../spec/access/access.test.ts'),
  'rights-matrix': () => import('../spec/access/rights-matrix.test.ts'),
  'duplicate-detection-batches': () =>
    import('../spec/duplicates/duplicate-detection-batches.test.ts'),
  'duplicate-detection': () => import('../spec/duplicates/duplicate-detection.test.ts'),
  'atom-fuzz': () => import('../spec/management/atom-fuzz.test.ts'),
  'entity-update': () => import('../spec/management/entity-update.test.ts'),
  idle: () => import('../spec/management/idle.test.ts'),
  management: () => import('../spec/management/management.test.ts'),
  tier: () => import('../spec/management/tier.test.ts'),
  'partitions-forward': () => import('../spec/partitions/partitions-forward.test.ts'),
  'partitions-receive': () => import('../spec/partitions/partitions-receive.test.ts'),
  'partitions-settle': () => import('../spec/partitions/partitions-settle.test.ts'),
  partitions: () => import('../spec/partitions/partitions.test.ts'),
  'calls-that-share-a-write': () => import('../spec/queues/calls-that-share-a-write.test.ts'),
  'changed-meanwhile': () => import('../spec/queues/changed-meanwhile.test.ts'),
  counts: () => import('../spec/queues/counts.test.ts'),
  'dead-letter-on-expiry': () => import('../spec/queues/dead-letter-on-expiry.test.ts'),
  'dead-letter-queue': () => import('../spec/queues/dead-letter-queue.test.ts'),
  deferral: () => import('../spec/queues/deferral.test.ts'),
  'delivery-count': () => import('../spec/queues/delivery-count.test.ts'),
  'max-delivery-count': () => import('../spec/queues/max-delivery-count.test.ts'),
  operator: () => import('../spec/queues/operator.test.ts'),
  'peek-lock': () => import('../spec/queues/peek-lock.test.ts'),
  peek: () => import('../spec/queues/peek.test.ts'),
  'purge-and-resubmit': () => import('../spec/queues/purge-and-resubmit.test.ts'),
  'receive-and-delete': () => import('../spec/queues/receive-and-delete.test.ts'),
  'refusals-of-receives': () => import('../spec/queues/refusals-of-receives.test.ts'),
  'refusals-of-sends': () => import('../spec/queues/refusals-of-sends.test.ts'),
  'renew-lock': () => import('../spec/queues/renew-lock.test.ts'),
  'scheduling-in-bulk': () => import('../spec/queues/scheduling-in-bulk.test.ts'),
  scheduling: () => import('../spec/queues/scheduling.test.ts'),
  send: () => import('../spec/queues/send.test.ts'),
  'settle-outcomes': () => import('../spec/queues/settle-outcomes.test.ts'),
  'settle-tokens': () => import('../spec/queues/settle-tokens.test.ts'),
  'settle-with-options': () => import('../spec/queues/settle-with-options.test.ts'),
  'time-to-live-under-lock': () => import('../spec/queues/time-to-live-under-lock.test.ts'),
  'time-to-live': () => import('../spec/queues/time-to-live.test.ts'),
  'waiting-receive': () => import('../spec/queues/waiting-receive.test.ts'),
  'waiting-receivers-share-polls': () =>
    import('../spec/queues/waiting-receivers-share-polls.test.ts'),
  'answer-blocks': () => import('../spec/wire/answer-blocks.test.ts'),
  'answer-size': () => import('../spec/wire/answer-size.test.ts'),
  'answer-too-large': () => import('../spec/wire/answer-too-large.test.ts'),
  'lost-dollars': () => import('../spec/wire/lost-dollars.test.ts'),
  'rest-properties': () => import('../spec/wire/rest-properties.test.ts'),
  'rest-wire': () => import('../spec/wire/rest-wire.test.ts'),
  'entity-facts': () => import('../spec/exact/entity-facts.test.ts'),
  'exact-answer-size': () => import('../spec/exact/exact-answer-size.test.ts'),
  'exact-messages': () => import('../spec/exact/exact-messages.test.ts'),
  'exact-transactions': () => import('../spec/exact/exact-transactions.test.ts'),
  'idempotency-key': () => import('../spec/exact/idempotency-key.test.ts'),
  names: () => import('../hostile/names.test.ts'),
};

registerSpecs('function URL', SPECS, USUAL);
