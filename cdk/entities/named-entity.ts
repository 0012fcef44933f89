import { Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { requireChildName, requireEntityName } from '../../shared/domain/entities/entity-path.ts';
import { SettingsError } from '../setting-faults.ts';

/**
 * The construct for an entity that is only named, one for each name within its scope. Throws SettingsError for a name
 * that no entity can have.
 */
export function namedEntity<Entity extends Construct>(
  around: { readonly node: Construct['node'] },
  kind: 'Queue' | 'Topic' | 'Subscription',
  name: string,
  create: (scope: Construct, id: string) => Entity,
): Entity {
  const at = `${around.node.path}, ${kind}.fromName`;
  if (Token.isUnresolved(name)) {
    throw new SettingsError([`${at}: The name is a token: write the name itself.`]);
  }
  try {
    if (kind === 'Subscription') requireChildName(name);
    else requireEntityName(name);
  } catch (error) {
    throw new SettingsError([`${at}: ${error instanceof Error ? error.message : String(error)}`]);
  }
  const id = `${kind} ${name.toLowerCase().replaceAll('/', '!')}`;
  const found = around.node.tryFindChild(id);
  return found === undefined ? create(around as Construct, id) : (found as Entity);
}
