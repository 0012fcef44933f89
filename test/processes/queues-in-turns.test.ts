import { registerInTurns } from '../support/in-turns.ts';

/**
 * The specs of queues as a deployment runs them: two processes that share nothing but the tables answer
 * in turns, and each is frozen between its requests for longer than it trusts its memory.
 */

registerInTurns({
  'dead-letter-queue': () => import('../spec/dead-letter-queue.test.ts'),
  deferral: () => import('../spec/deferral.test.ts'),
  'duplicate-detection': () => import('../spec/duplicate-detection.test.ts'),
  'entity-update': () => import('../spec/entity-update.test.ts'),
  management: () => import('../spec/management.test.ts'),
  'max-delivery': () => import('../spec/max-delivery.test.ts'),
  'partitions-settle': () => import('../spec/partitions-settle.test.ts'),
  peek: () => import('../spec/peek.test.ts'),
  'peek-lock': () => import('../spec/peek-lock.test.ts'),
  'purge-and-resubmit': () => import('../spec/purge-and-resubmit.test.ts'),
  'receive-and-delete': () => import('../spec/receive-and-delete.test.ts'),
  'renew-lock': () => import('../spec/renew-lock.test.ts'),
  scheduling: () => import('../spec/scheduling.test.ts'),
  send: () => import('../spec/send.test.ts'),
  settle: () => import('../spec/settle.test.ts'),
  settlement: () => import('../spec/settlement.test.ts'),
  'time-to-live': () => import('../spec/time-to-live.test.ts'),
  transactions: () => import('../spec/transactions.test.ts'),
  'waiting-receive': () => import('../spec/waiting-receive.test.ts'),
});
