import { EntityRenewal } from '../storage/entities/entity-renewal.ts';
import { DynamoRuleStore } from '../storage/entities/rule-store.ts';
import type { ComposedDependencies } from './compose-dependencies.ts';

/** Composes the renewal of entities, which only servers for tests offer. */
export function composeRenewal(dependencies: ComposedDependencies): EntityRenewal {
  const { documents, namespace, entities, context } = dependencies;
  return new EntityRenewal({
    ...dependencies,
    messages: context.table,
    rules: new DynamoRuleStore(documents, namespace, entities),
  });
}
