import type { AsyncCommand } from 'fast-check';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';

/** One operation on model and bus together. */
export type Step = AsyncCommand<QueueModel, QueueClient>;

/**
 * Pairs a printable name with what is done. `run` does the same to bus and model, compares, and
 * returns what it came to, for the history.
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

/** One of a list, whatever number was drawn; there must be one. */
export function pick<T>(list: readonly T[], drawn: number): T {
  const one = list[drawn % list.length];
  if (one === undefined) throw new Error('Nothing to pick from: a check is missing.');
  return one;
}

/** As many different ones of a list as there are draws, or all. */
export function pickMany<T>(list: readonly T[], drawn: readonly number[]): readonly T[] {
  const left = [...list];
  return drawn.flatMap((number) => left.splice(left.length === 0 ? 0 : number % left.length, 1));
}

/** Spans of time around which faults are; lock and time to live as the queue has them. */
export const SPANS = ['1ms', '1s', 'lock-1', 'lock', 'lock+1', '2 locks', 'ttl-1', 'ttl'] as const;
export type Span = (typeof SPANS)[number];

/** How long that is; without a time to live in the queue, one of ten seconds. */
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
