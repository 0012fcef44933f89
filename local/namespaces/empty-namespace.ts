import type { Management } from '../../shared/broker/management/management.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { inParallel } from '../../shared/domain/turns/in-parallel.ts';
import type {
  DeclaredEntity,
  EntityRenewal,
} from '../../shared/storage/entities/entity-renewal.ts';

/** Entities that are deleted or renewed at the same time; each waits for the leases of the others. */
const WIDTH = 50;

/**
 * Puts a namespace back to its beginning: renews the declared entities, and deletes all others. `now` = epoch ms, by
 * the clock of the namespace. Throws ServiceBusy, ServiceTimeout, ConflictInProgress; then some entities are reset.
 */
export async function resetEntities(
  management: Management,
  renewal: EntityRenewal,
  declared: ReadonlyMap<string, DeclaredEntity>,
  now: number,
): Promise<void> {
  const others = (await entitiesOf(management)).filter(({ key }) => !declared.has(key));
  await inParallel([...declared.values(), ...others], WIDTH, (one) =>
    'subscriptions' in one ? renewal.renew(one, now) : deleteIfThere(management, one),
  );
}

/** Deletes all entities that a namespace has at the moment. Resolves with their number. */
export async function deleteEntities(management: Management): Promise<number> {
  const entities = await entitiesOf(management);
  await inParallel(entities, WIDTH, (one) => deleteIfThere(management, one));
  return entities.length;
}

async function entitiesOf(management: Management): Promise<readonly Entity[]> {
  const entities: Entity[] = [];
  for (const kind of ['queue', 'topic'] as const) {
    for (let skip = 0, more = true; more; ) {
      const page = await management.list({ kind, skip, top: LIMITS.listPage });
      entities.push(...page.items);
      skip += page.items.length;
      more = page.more;
    }
  }
  return entities;
}

async function deleteIfThere(management: Management, { name }: Entity): Promise<void> {
  try {
    await management.delete(name);
  } catch (error) {
    const isGone = error instanceof BrokerError && error.code === 'MessagingEntityNotFound';
    if (!isGone) throw error;
  }
}
