import { sweep } from '../storage/maintenance/sweep.ts';
import {
  type ComposedDependencies,
  composeDependencies,
  type NamespaceSettings,
} from './compose-dependencies.ts';

/** Builds the sweep alone: what its function loads. */
export function composeSweep(settings: Omit<NamespaceSettings, 'rootKey'>): () => Promise<boolean> {
  return sweepOf(composeDependencies({ ...settings, rootKey: '' }));
}

/**
 * One run of the sweep over the parts of a namespace; ends when nothing is left to do behind it. The run
 * resolves to false where another one is under way: then it did nothing.
 */
export function sweepOf(parts: ComposedDependencies): () => Promise<boolean> {
  return async () => {
    try {
      return await sweep(parts);
    } finally {
      await parts.background.settled();
    }
  };
}
