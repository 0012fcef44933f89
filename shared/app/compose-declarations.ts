import type { Management } from '../broker/management/management.ts';
import type { DeclarationStore } from '../broker/ports/declarations.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { DynamoDeclarationStore } from '../storage/entities/declaration-store.ts';
import { composeDependencies } from './compose-dependencies.ts';
import { composeManagement } from './compose-management.ts';
import type { NamespaceSettings } from './namespace-settings.ts';

/** The settings of a namespace whose entities stacks declare. */
export interface DeclarationSettings extends Omit<NamespaceSettings, 'rootKey'> {
  readonly tier: Tier;
}

/** What makes declared entities. */
export interface ComposedDeclarations {
  readonly management: Management;
  readonly declarations: DeclarationStore;
  /** Resolves when no background work is left. */
  readonly settled: () => Promise<void>;
}

/** Composes management and declarations of a namespace, without messaging. */
export function composeDeclarations(settings: DeclarationSettings): ComposedDeclarations {
  const dependencies = composeDependencies({ ...settings, rootKey: '' });
  const { documents, namespace, random, background } = dependencies;
  return {
    management: composeManagement(dependencies, settings.tier, settings.push),
    declarations: new DynamoDeclarationStore(documents, namespace, random),
    settled: () => background.settled(),
  };
}
