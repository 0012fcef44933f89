import type { AsyncCommand } from 'fast-check';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';

/** One operation, on the model and on the bus. */
export type Step = AsyncCommand<QueueModel, QueueClient>;

/**
 * A step with a printable name. `run` performs the same operation on bus and model, compares, and returns
 * the outcome for the history.
 */
export function step(
  name: string,
  check: (model: QueueModel) => boolean,
  run: (model: QueueModel, client: QueueClient) => Promise<string | undefined>,
): Step {
  return {
    check,
    run: async (model, client) => {
      const place = model.history.push(`${name} …`) - 1;
      const outcome = await run(model, client);
      model.history[place] = outcome === undefined ? name : `${name}: ${outcome}`;
    },
    toString: () => name,
  };
}

/** The element for a drawn number; throws if the list is empty. */
export function pick<T>(list: readonly T[], drawn: number): T {
  const one = list[drawn % list.length];
  if (one === undefined) throw new Error('Nothing to pick from: a check is missing.');
  return one;
}

/** One different element for each drawn number, or all elements if there are fewer. */
export function pickMany<T>(list: readonly T[], drawn: readonly number[]): readonly T[] {
  const left = [...list];
  return drawn.flatMap((number) => left.splice(left.length === 0 ? 0 : number % left.length, 1));
}

/** Spans at which defects are likely; `lock` and `ttl` are those of the queue. */
export const SPANS = ['1ms', '1s', 'lock-1', 'lock', 'lock+1', '2 locks', 'ttl-1', 'ttl'] as const;
export type Span = (typeof SPANS)[number];

/** A span in ms; a queue without a time to live counts as 10 s. */
export function msOf(
  span: Span,
  { lockMs, defaultTtlMs = 10_000 }: QueueModel['settings'],
): number {
  switch (span) {
    case '1ms':
      return 1;
    case '1s':
      return 1000;
    case 'lock-1':
      return lockMs - 1;
    case 'lock':
      return lockMs;
    case 'lock+1':
      return lockMs + 1;
    case '2 locks':
      return 2 * lockMs;
    case 'ttl-1':
      return defaultTtlMs - 1;
    case 'ttl':
      return defaultTtlMs;
  }
}
