import type { DocumentTable } from '../dynamodb/document-table.ts';
import { tombstonesCollection } from '../schema/entity-keys.ts';
import type { SweepDependencies } from './sweep-run.ts';
import { clearMessages, removeTombstone, type StoredTombstone } from './tombstones.ts';

/** Passes over the tombstones. Each deletes `PASS_ITEMS` items of each entity; children of topics need a second one. */
const PASSES_MAX = 100;
const PASS_ITEMS = 5000;

/** The names of all tombstones that a namespace has, for `clearRemains`. Half a read unit for each 4 KB of them. */
export async function tombstoneNames(
  documents: DocumentTable,
  namespace: string,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { sk } of documents.allStale(tombstonesCollection(namespace))) {
    names.add(String(sk));
  }
  return names;
}

/**
 * Deletes at once, whatever the time is, what these tombstones cover, and the tombstones. It touches nothing else, so
 * new entities with the same paths lose nothing. For entities that nobody uses any more: a send that is still under way
 * can leave items that no sweep finds. `isOver` ends the work early; a later sweep does the rest.
 */
export async function clearRemains(
  dependencies: SweepDependencies,
  names: ReadonlySet<string>,
  isOver: () => boolean,
): Promise<void> {
  const { documents, namespace } = dependencies;
  for (let pass = 0, isLeft = true; isLeft && pass < PASSES_MAX; pass++) {
    isLeft = false;
    for await (const document of documents.allStale(tombstonesCollection(namespace))) {
      if (isOver()) return;
      const tombstone = document as unknown as StoredTombstone;
      if (!isCovered(tombstone, names)) continue;
      isLeft = true;
      const deleted = await clearMessages(dependencies, tombstone, PASS_ITEMS);
      if (deleted === 0) await removeTombstone(dependencies, tombstone);
    }
  }
}

/** Whether a tombstone is one of these, or that of a subscription whose topic has one of them. */
function isCovered({ sk, entity }: StoredTombstone, names: ReadonlySet<string>): boolean {
  return names.has(sk) || (entity.parentId !== undefined && names.has(entity.parentId));
}
