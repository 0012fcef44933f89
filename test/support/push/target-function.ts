import type { PushedEvent } from '../../../lambdas/push/event/record.ts';
import type { LambdaService } from './lambda-service.ts';

/** A call that a target has got. */
export interface TargetCall {
  readonly event: PushedEvent;
  /** Monotonic ms. */
  readonly at: number;
}

/** The function that a consumer has as its target unless a test says otherwise: `LAMBDA`. */
const WORKER = 'worker';

/** A function of a user. It notes its calls, and answers as a test says. */
export class TargetFunction {
  readonly calls: TargetCall[] = [];
  /** What it answers; what this throws is its error. */
  answer: (event: PushedEvent) => unknown = () => undefined;

  constructor(lambda: LambdaService, name = WORKER) {
    lambda.register(name, async (event) => {
      const pushed = event as PushedEvent;
      this.calls.push({ event: pushed, at: performance.now() });
      return await this.answer(pushed);
    });
  }
}

/** The bodies of the messages of calls. */
export function bodiesOf(calls: readonly TargetCall[]): readonly string[] {
  return calls.flatMap(({ event }) => event.Records.map(({ body }) => body));
}
