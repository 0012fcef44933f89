import fc from 'fast-check';
import type { QueueSettings } from './model-message.ts';
import type { Mode } from './queue-client.ts';
import * as queueSteps from './queue-steps.ts';
import { lookAround, peek, receive, receiveDeferred } from './receive-steps.ts';
import { cancel, type Outgoing, schedule, send } from './send-steps.ts';
import { renew, type Settling, settle, settleMany } from './settle-steps.ts';
import { SPANS, type Span, type Step } from './step.ts';

/** The arbitraries of the queue's steps; spans are close to the ends of locks and times to live. */

const drawn = fc.nat({ max: 11 });
const several = (maxLength: number) => fc.array(drawn, { minLength: 1, maxLength });
const span: fc.Arbitrary<Span> = fc.constantFrom(...SPANS);
const place = fc.constantFrom('main' as const, 'main' as const, 'dead' as const);
const mode: fc.Arbitrary<Mode> = fc.constantFrom('peekLock', 'peekLock', 'receiveAndDelete');
const bytes = fc.constantFrom(0, 10, 60, 1500);

const now: fc.Arbitrary<Outgoing> = fc.record({
  ttl: fc.constantFrom('none' as const, 'none' as const, 'none' as const, ...SPANS),
  bytes,
});
const later = fc.record({
  ttl: fc.constantFrom('none' as const, 'none' as const, '1s' as const, 'lock' as const),
  dueIn: fc.constantFrom('1ms' as const, '1s' as const, 'lock' as const, '2 locks' as const),
  bytes,
});
const outgoing: fc.Arbitrary<Outgoing> = fc.oneof(
  { weight: 5, arbitrary: now },
  { weight: 1, arbitrary: later },
);

const mark = fc.option(fc.nat({ max: 9 }), { nil: undefined, freq: 3 });
const settling: fc.Arbitrary<Settling> = fc.record({
  kind: fc.constantFrom('complete', 'abandon', 'abandon', 'defer', 'deadLetter'),
  delay: fc.option(span, { nil: undefined, freq: 3 }),
  mark,
  reason: fc.option(fc.constant('because'), { nil: undefined }),
});

/** Settings of a queue, with low maximum delivery counts, so that short sequences exceed them. */
export const queueSettings: fc.Arbitrary<QueueSettings> = fc.record({
  lockMs: fc.constantFrom(5000, 30_000, 300_000),
  maxDeliveryCount: fc.constantFrom(1, 2, 3),
  defaultTtlMs: fc.constantFrom(undefined, undefined, 5000, 30_000, 60_000),
  deadLettersExpired: fc.boolean(),
});

const count = fc.oneof(fc.constantFrom(1, 2, 3, 24), fc.constant('alone' as const));
const operation = fc.constantFrom('breakLock', 'reactivate', 'delete', 'deadLetter');

const STEPS: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [10, fc.array(outgoing, { minLength: 1, maxLength: 4 }).map(send)],
  [2, fc.array(later, { minLength: 1, maxLength: 3 }).map(schedule)],
  [2, several(2).map(cancel)],
  [14, fc.tuple(place, mode, count).map(([...options]) => receive(...options))],
  [12, fc.tuple(drawn, settling).map(([...options]) => settle(...options))],
  [
    4,
    fc
      .tuple(place, several(4), fc.array(settling, { minLength: 1, maxLength: 3 }))
      .map(([...options]) => settleMany(...options)),
  ],
  [3, several(3).map(renew)],
  [5, fc.tuple(place, mode, several(2)).map(([...options]) => receiveDeferred(...options))],
  [2, fc.tuple(place, fc.nat({ max: 9 }), drawn).map(([at, from, n]) => peek(at, from, n + 1))],
  [5, fc.constant(0).map(lookAround)],
  [4, span.map(queueSteps.pass)],
  [
    12,
    fc
      .tuple(drawn, fc.constantFrom(-1 as const, 0 as const, 0 as const, 1 as const))
      .map(([...options]) => queueSteps.passTo(...options)),
  ],
  [2, queueSettings.map(queueSteps.update)],
  [1, fc.constant(0).map(queueSteps.sweep)],
  [1, place.map(queueSteps.purge)],
  [2, fc.nat({ max: 4 }).map((max) => queueSteps.resubmit(max + 1))],
  [
    1,
    fc
      .tuple(drawn, fc.constantFrom(0, 1, 5000))
      .map(([max, age]) => queueSteps.deleteOld(max + 1, age)),
  ],
  [6, fc.tuple(operation, place, drawn).map(([...options]) => queueSteps.operate(...options))],
];

/** One weighted arbitrary, because `fc.commands` draws evenly from its list. */
export const stepArbitraries: fc.Arbitrary<Step>[] = [
  fc.oneof(...STEPS.map(([weight, arbitrary]) => ({ weight, arbitrary }))),
];
