import { EntityRenewal } from '../storage/entities/entity-renewal.ts';
import { DynamoRuleStore } from '../storage/entities/rule-store.ts';
import type { ComposedDependencies } from './compose-dependencies.ts';

/** Composes the renewal of entities, which only servers for tests offer. */
export function composeRenewal(dependencies: ComposedDependencies): EntityRenewal {
  return new EntityRenewal({
    ...dependencies,
    messages: dependencies.context.table,
    rules: new DynamoRuleStore(dependencies),
  });
}
