import { sweep } from '../storage/maintenance/sweep.ts';
import { type ComposedParts, composeParts, type NamespaceSettings } from './compose-parts.ts';

/** Builds the sweep alone: what its function loads. */
export function composeSweep(settings: Omit<NamespaceSettings, 'rootKey'>): () => Promise<boolean> {
  return sweepOf(composeParts({ ...settings, rootKey: '' }), settings);
}

/**
 * One run of the sweep over the parts of a namespace; ends when nothing is left to do behind it. The run
 * resolves to false where another one is under way: then it did nothing.
 */
export function sweepOf(
  parts: ComposedParts,
  { soleProcess }: Pick<NamespaceSettings, 'soleProcess'>,
): () => Promise<boolean> {
  return async () => {
    try {
      return await sweep({ ...parts, soleProcess });
    } finally {
      await parts.background.settled();
    }
  };
}
