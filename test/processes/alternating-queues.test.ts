import { registerSpecs } from '../support/spec-modes.ts';

/**
 * Runs the specs of queues as a deployment runs: two processes share only the tables and answer in turns. Each
 * is frozen between its requests for longer than its cache lease. `npm test` runs the specs in which a process
 * relies on what it remembers or on what it hears from another one.
 */

const USUAL = [
  'entity-update',
  'peek-lock',
  'scheduling',
  'transactions',
  'waiting-receive',
] as const;

const SPECS = {
  'dead-letter-queue': () => import('../spec/queues/dead-letter-queue.test.ts'),
  deferral: () => import('../spec/queues/deferral.test.ts'),
  'duplicate-detection': () => import('../spec/duplicates/duplicate-detection.test.ts'),
  'entity-facts': () => import('../spec/exact/entity-facts.test.ts'),
  'exact-messages': () => import('../spec/exact/exact-messages.test.ts'),
  'exact-transactions': () => import('../spec/exact/exact-transactions.test.ts'),
  'idempotency-key': () => import('../spec/exact/idempotency-key.test.ts'),
  'entity-update': () => import('../spec/management/entity-update.test.ts'),
  management: () => import('../spec/management/management.test.ts'),
  'delivery-count': () => import('../spec/queues/delivery-count.test.ts'),
  'partitions-settle': () => import('../spec/partitions/partitions-settle.test.ts'),
  peek: () => import('../spec/queues/peek.test.ts'),
  'peek-lock': () => import('../spec/queues/peek-lock.test.ts'),
  'purge-and-resubmit': () => import('../spec/queues/purge-and-resubmit.test.ts'),
  'receive-and-delete': () => import('../spec/queues/receive-and-delete.test.ts'),
  'renew-lock': () => import('../spec/queues/renew-lock.test.ts'),
  scheduling: () => import('../spec/queues/scheduling.test.ts'),
  send: () => import('../spec/queues/send.test.ts'),
  'settle-tokens': () => import('../spec/queues/settle-tokens.test.ts'),
  'settle-outcomes': () => import('../spec/queues/settle-outcomes.test.ts'),
  'time-to-live': () => import('../spec/queues/time-to-live.test.ts'),
  transactions: () => import('../spec/transactions/transactions.test.ts'),
  'waiting-receive': () => import('../spec/queues/waiting-receive.test.ts'),
};

registerSpecs('alternating', SPECS, USUAL);
