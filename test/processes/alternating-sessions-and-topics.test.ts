import { registerSpecs } from '../support/spec-modes.ts';

/** Runs the specs of sessions and topics over two processes in turns; see alternating-queues.test.ts. */

const USUAL = ['session-accept', 'session-locks', 'topic-deletion', 'topic-sends'] as const;

const SPECS = {
  'session-accept': () => import('../spec/sessions/session-accept.test.ts'),
  'session-deferral': () => import('../spec/sessions/session-deferral.test.ts'),
  'session-lifetime': () => import('../spec/sessions/session-lifetime.test.ts'),
  'session-locks': () => import('../spec/sessions/session-locks.test.ts'),
  'session-order': () => import('../spec/sessions/session-order.test.ts'),
  'session-state': () => import('../spec/sessions/session-state.test.ts'),
  'subscription-settlement': () => import('../spec/topics/subscription-settlement.test.ts'),
  'topic-deletion': () => import('../spec/topics/topic-deletion.test.ts'),
  'topic-scheduling': () => import('../spec/topics/topic-scheduling.test.ts'),
  'topic-sends': () => import('../spec/topics/topic-sends.test.ts'),
};

registerSpecs('alternating', SPECS, USUAL);
