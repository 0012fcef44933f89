import type { Call } from '../../../shared/broker/group-commit/lanes.ts';

/** Answers the calls of a group, each with its part of `outcomes`: one for each of its messages, in order. */
export function answerCalls<Outcome>(
  calls: readonly Call<unknown, readonly NoInfer<Outcome>[]>[],
  outcomes: readonly Outcome[],
): void {
  let answered = 0;
  for (const { size, resolve } of calls) {
    const next = answered + size.messages;
    resolve(outcomes.slice(answered, next));
    answered = next;
  }
}
