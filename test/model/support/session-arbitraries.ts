import fc from 'fast-check';
import type { SessionStep } from './session-clients.ts';
import { HOLDERS, LOCK_MS, SESSIONS } from './session-model.ts';
import { peekAll } from './session-peeks.ts';
import {
  accept,
  list,
  next,
  passTime,
  receive,
  receiveDeferred,
  release,
  renew,
  type Settling,
  send,
  settle,
  state,
  update,
} from './session-steps.ts';

/** A few sessions are drawn often, so that several receivers hold them within one history. */
const session = fc
  .oneof({ weight: 3, arbitrary: fc.nat({ max: 2 }) }, fc.nat({ max: SESSIONS - 1 }))
  .map((number) => (number === 0 ? '' : `s/${number}`));
const holder = fc.oneof({ weight: 2, arbitrary: fc.nat({ max: 2 }) }, fc.nat({ max: HOLDERS - 1 }));
const at = fc.nat({ max: 1 });
const drawn = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 4 });
const way: fc.Arbitrary<Settling> = fc.record({
  outcome: fc.constantFrom('complete', 'complete', 'abandon', 'defer', 'deadLetter'),
  hasProperties: fc.boolean(),
});
const ways = fc
  .tuple(way, fc.array(way, { maxLength: 2 }))
  .map(([first, rest]): [Settling, ...Settling[]] => [first, ...rest]);
const count = fc.constantFrom(1, 1, 2, 3, 30);
const span = fc.constantFrom(1, 1000, 1000, 5000, LOCK_MS - 1, LOCK_MS, LOCK_MS + 1, 2 * LOCK_MS);
const change = fc.constantFrom('read' as const, 'read', 'small', 'x'.repeat(2000), '', undefined);

const STEPS: readonly (readonly [number, fc.Arbitrary<SessionStep>])[] = [
  [
    16,
    fc
      .tuple(fc.array(session, { minLength: 1, maxLength: 6 }), fc.boolean(), at)
      .map(([...options]) => send(...options)),
  ],
  [8, fc.tuple(fc.tuple(session), fc.boolean(), at).map(([...options]) => send(...options))],
  [12, fc.tuple(holder, session, at).map(([...options]) => accept(...options))],
  [18, fc.tuple(holder, at).map(([...options]) => next(...options))],
  [24, fc.tuple(holder, count, at).map(([...options]) => receive(...options))],
  [8, fc.tuple(holder, drawn, at).map(([...options]) => receiveDeferred(...options))],
  [24, fc.tuple(holder, drawn, ways, at).map(([...options]) => settle(...options))],
  [6, fc.tuple(holder, at).map(([...options]) => renew(...options))],
  [8, fc.tuple(holder, at).map(([...options]) => release(...options))],
  [8, fc.tuple(holder, change, at).map(([...options]) => state(...options))],
  [10, span.map(passTime)],
  // Rare, because it takes seconds: the processes discard their hints about the queue.
  [1, at.map(update)],
  [2, at.map(list)],
  [6, fc.tuple(fc.constantFrom(2, 5, 250), at).map(([...options]) => peekAll(...options))],
];

/** Each step as many times as its weight. */
export const sessionSteps = STEPS.flatMap(([weight, arbitrary]) =>
  Array.from({ length: weight }, () => arbitrary),
);
