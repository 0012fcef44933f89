import { registerSpecs } from '../support/spec-modes.ts';

/** Runs the specs of topics, sessions and transactions behind a function URL; see function-url-queues.test.ts. */

const USUAL = ['session-ids'] as const;

const SPECS = {
  'forward-chain': () => import('../spec/forwarding/forward-chain.test.ts'),
  'forward-dead-letters': () => import('../spec/forwarding/forward-dead-letters.test.ts'),
  'forward-pending': () => import('../spec/forwarding/forward-pending.test.ts'),
  'forward-refusals': () => import('../spec/forwarding/forward-refusals.test.ts'),
  'forward-topics': () => import('../spec/forwarding/forward-topics.test.ts'),
  'transfer-dead-letters': () => import('../spec/forwarding/transfer-dead-letters.test.ts'),
  'session-accept': () => import('../spec/sessions/session-accept.test.ts'),
  'session-dead-letters': () => import('../spec/sessions/session-dead-letters.test.ts'),
  'session-deferral': () => import('../spec/sessions/session-deferral.test.ts'),
  'session-ids': () => import('../spec/sessions/session-ids.test.ts'),
  'session-lifetime': () => import('../spec/sessions/session-lifetime.test.ts'),
  'session-list': () => import('../spec/sessions/session-list.test.ts'),
  'session-locks': () => import('../spec/sessions/session-locks.test.ts'),
  'session-order': () => import('../spec/sessions/session-order.test.ts'),
  'session-processes': () => import('../spec/sessions/session-processes.test.ts'),
  'session-refusals': () => import('../spec/sessions/session-refusals.test.ts'),
  'session-scheduling': () => import('../spec/sessions/session-scheduling.test.ts'),
  'session-state': () => import('../spec/sessions/session-state.test.ts'),
  'fan-out-bodies': () => import('../spec/topics/fan-out-bodies.test.ts'),
  'fan-out': () => import('../spec/topics/fan-out.test.ts'),
  'rule-copies': () => import('../spec/topics/rule-copies.test.ts'),
  'rule-failures': () => import('../spec/topics/rule-failures.test.ts'),
  'rule-filters': () => import('../spec/topics/rule-filters.test.ts'),
  'subscription-settlement': () => import('../spec/topics/subscription-settlement.test.ts'),
  'topic-deletion': () => import('../spec/topics/topic-deletion.test.ts'),
  'topic-scheduling': () => import('../spec/topics/topic-scheduling.test.ts'),
  'topic-sends': () => import('../spec/topics/topic-sends.test.ts'),
  'topic-time-to-live': () => import('../spec/topics/topic-time-to-live.test.ts'),
  'transaction-ids': () => import('../spec/transactions/transaction-ids.test.ts'),
  'transaction-partitions': () => import('../spec/transactions/transaction-partitions.test.ts'),
  'transaction-refusals': () => import('../spec/transactions/transaction-refusals.test.ts'),
  'transaction-rights': () => import('../spec/transactions/transaction-rights.test.ts'),
  'transaction-sends': () => import('../spec/transactions/transaction-sends.test.ts'),
  'transaction-sessions': () => import('../spec/transactions/transaction-sessions.test.ts'),
  'transaction-topics': () => import('../spec/transactions/transaction-topics.test.ts'),
  'transaction-transfers': () => import('../spec/transactions/transaction-transfers.test.ts'),
  transactions: () => import('../spec/transactions/transactions.test.ts'),
};

registerSpecs('function URL', SPECS, USUAL);
