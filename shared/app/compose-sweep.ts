import { sweep } from '../storage/maintenance/sweep.ts';
import { type ComposedDependencies, composeDependencies } from './compose-dependencies.ts';
import type { NamespaceSettings } from './namespace-settings.ts';

/** Composes the sweep alone, as its function needs it. */
export function composeSweep(settings: Omit<NamespaceSettings, 'rootKey'>): () => Promise<boolean> {
  return sweepOf(composeDependencies({ ...settings, rootKey: '' }));
}

/**
 * The sweep of a namespace, as a function. Each call is one run, and resolves after its background work has ended;
 * false = another run was under way, so this one did nothing.
 */
export function sweepOf(dependencies: ComposedDependencies): () => Promise<boolean> {
  return async () => {
    try {
      return await sweep(dependencies);
    } finally {
      await dependencies.background.settled();
    }
  };
}
