import type { Result, SimulatedProcess } from '../machines/process.ts';
import type { World } from '../machines/world.ts';
import type { Repeat } from '../scenario/scenario.ts';
import type { Answer, Prepared } from './operations.ts';

/** What a client knows after its attempts of one operation. */
interface Attempted {
  readonly result: Result<Answer>;
  /** The process of the last attempt. */
  readonly process: SimulatedProcess;
  readonly hadFaults: boolean;
}

/**
 * Performs an operation, and repeats it while it gets no answer or a retryable refusal. Such a refusal says nothing
 * about an earlier attempt without an answer; every other answer does.
 */
export async function attempt(
  world: World,
  first: SimulatedProcess,
  run: Prepared['run'],
  repeats: readonly Repeat[],
): Promise<Attempted> {
  let { result, hadFaults } = await call(first, run);
  let process = first;
  let isUncertain = result.kind === 'unknown';
  for (const { afterMs, process: name } of repeats) {
    if (!isOpen(result)) break;
    await world.timeline.pause(afterMs);
    process = world.process(name);
    world.trace?.(process.spec.name, 'the client asks again');
    const again = await call(process, run);
    result = again.result;
    hadFaults ||= again.hadFaults;
    isUncertain ||= result.kind === 'unknown';
  }
  if (isUncertain && isOpen(result)) {
    const why = result.kind === 'refused' ? `then ${result.error.code}` : result.why;
    result = { kind: 'unknown', why };
  }
  return { result, process, hadFaults };
}

async function call(process: SimulatedProcess, run: Prepared['run']) {
  const { faultCount } = process;
  const result = await process.call(run);
  return { result, hadFaults: process.faultCount > faultCount };
}

type Open = Extract<Result<Answer>, { readonly kind: 'unknown' | 'refused' }>;

/** Whether the operation may still be done, so that a client repeats it. */
function isOpen(result: Result<Answer>): result is Open {
  return result.kind === 'unknown' || (result.kind === 'refused' && result.error.retryable);
}
