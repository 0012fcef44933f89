import { registerInTurns } from '../support/in-turns.ts';

/** The specs of sessions and topics over two processes in turns; see queues-in-turns.test.ts. */

registerInTurns({
  'session-accept': () => import('../spec/session-accept.test.ts'),
  'session-deferral': () => import('../spec/session-deferral.test.ts'),
  'session-lifetime': () => import('../spec/session-lifetime.test.ts'),
  'session-locks': () => import('../spec/session-locks.test.ts'),
  'session-order': () => import('../spec/session-order.test.ts'),
  'session-state': () => import('../spec/session-state.test.ts'),
  'subscription-settlement': () => import('../spec/subscription-settlement.test.ts'),
  'topic-deletion': () => import('../spec/topic-deletion.test.ts'),
  'topic-scheduling': () => import('../spec/topic-scheduling.test.ts'),
  'topic-sends': () => import('../spec/topic-sends.test.ts'),
});
