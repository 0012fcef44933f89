import { type LeftOut, registerInTurns } from '../support/in-turns.ts';

/**
 * The core of test/spec as a deployment runs it: two processes that share nothing but the tables
 * answer in turns, and each is frozen between its requests for longer than it trusts its memory.
 */

const PUT_BACK =
  'A process that has a scan hint hands out what lies behind it first, and finds what another process put back in front with its next look.';
const CAME_DUE =
  'A process that does not know the next due time activates and scans at once: its answer may leave what came due to the next receive.';

/** The tests of these specs that only one process can pass, each with the reason. */
const LEFT_OUT: LeftOut = {
  '#14 breaking a lock gives the message back at once; its holder has lost it': PUT_BACK,
  'an abandoned message of a subscription comes again first, with what was changed': PUT_BACK,
  'at the destination messages live as any: locks, abandons, deferral, dead letters': PUT_BACK,
  '#81 the window of a scheduled message counts from its acceptance, not from when it is due':
    CAME_DUE,
  '#81 what is scheduled makes a message sent now a duplicate, and the other way round': CAME_DUE,
  'an update touches nothing but locks: messages, their states and their numbers stay': CAME_DUE,
  'scheduled messages arrive in order of their times, and those of one time as they were sent':
    CAME_DUE,
};

registerInTurns(
  {
    'dead-letter-queue': () => import('../spec/dead-letter-queue.test.ts'),
    deferral: () => import('../spec/deferral.test.ts'),
    'duplicate-detection': () => import('../spec/duplicate-detection.test.ts'),
    'entity-update': () => import('../spec/entity-update.test.ts'),
    'forward-chain': () => import('../spec/forward-chain.test.ts'),
    management: () => import('../spec/management.test.ts'),
    'max-delivery': () => import('../spec/max-delivery.test.ts'),
    operator: () => import('../spec/operator.test.ts'),
    'partitions-settle': () => import('../spec/partitions-settle.test.ts'),
    peek: () => import('../spec/peek.test.ts'),
    'peek-lock': () => import('../spec/peek-lock.test.ts'),
    'purge-and-resubmit': () => import('../spec/purge-and-resubmit.test.ts'),
    'receive-and-delete': () => import('../spec/receive-and-delete.test.ts'),
    'renew-lock': () => import('../spec/renew-lock.test.ts'),
    'rule-filters': () => import('../spec/rule-filters.test.ts'),
    scheduling: () => import('../spec/scheduling.test.ts'),
    send: () => import('../spec/send.test.ts'),
    'session-accept': () => import('../spec/session-accept.test.ts'),
    'session-dead-letters': () => import('../spec/session-dead-letters.test.ts'),
    'session-deferral': () => import('../spec/session-deferral.test.ts'),
    'session-lifetime': () => import('../spec/session-lifetime.test.ts'),
    'session-locks': () => import('../spec/session-locks.test.ts'),
    'session-order': () => import('../spec/session-order.test.ts'),
    'session-state': () => import('../spec/session-state.test.ts'),
    settle: () => import('../spec/settle.test.ts'),
    'settle-with-options': () => import('../spec/settle-with-options.test.ts'),
    settlement: () => import('../spec/settlement.test.ts'),
    'subscription-settlement': () => import('../spec/subscription-settlement.test.ts'),
    'time-to-live': () => import('../spec/time-to-live.test.ts'),
    'time-to-live-under-lock': () => import('../spec/time-to-live-under-lock.test.ts'),
    'topic-deletion': () => import('../spec/topic-deletion.test.ts'),
    'topic-scheduling': () => import('../spec/topic-scheduling.test.ts'),
    'topic-sends': () => import('../spec/topic-sends.test.ts'),
    'topic-time-to-live': () => import('../spec/topic-time-to-live.test.ts'),
    transactions: () => import('../spec/transactions.test.ts'),
    'transfer-dead-letters': () => import('../spec/transfer-dead-letters.test.ts'),
    'waiting-receive': () => import('../spec/waiting-receive.test.ts'),
  },
  LEFT_OUT,
);
