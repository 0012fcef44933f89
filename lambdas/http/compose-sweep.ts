import type { ComposeSettings } from './compose-parts.ts';

/** One run of the sweep. */
export function composeSweep(
  _settings: Pick<ComposeSettings, 'client' | 'tables' | 'clock' | 'random'>,
): () => Promise<void> {
  return async () => {};
}
