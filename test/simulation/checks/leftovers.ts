import { TABLES } from '../machines/process.ts';
import type { World } from '../machines/world.ts';
import type { Item } from '../tables/database.ts';
import { type Violation, violation } from './violation.ts';

/** After the final drain and sweeps, each item in the tables belongs to an existing entity. */
export function checkLeftOver(world: World): readonly Violation[] {
  const entities = world.database.items(TABLES.entities);
  const ids = new Set(
    entities.flatMap((item) => (item['id']?.S === undefined ? [] : [item['id'].S])),
  );
  const items = world.database.items(TABLES.messages);
  const named = new Set(items.flatMap((item) => (item['p']?.S === undefined ? [] : [item['p'].S])));
  const left = items
    .filter((item) => !isExplained(item, ids) && !isPayload(item, named))
    .filter((item) => !mayWaitExpired(world, item))
    .map(describeItem);
  const orphans = entities.filter((item) => !isExplainedDocument(item)).map(describeItem);
  return [...left, ...orphans]
    .slice(0, 5)
    .map((item) => violation('left over', `Nothing explains ${item}`));
}

/**
 * Whether an item of an existing entity is the head of a partition, the state of a session, or a block of
 * deferred messages. Expired deferred messages stay until a receiver asks for them (semantics L7).
 */
function isExplained(item: Item, ids: ReadonlySet<string>): boolean {
  const [id = '', rest = ''] = (item['pk']?.S ?? '').split('.');
  if (!ids.has(id)) return false;
  const sk = item['sk']?.S ?? '';
  return sk === 'head' || /^\d+k$/.test(rest) || /(^|\/)d[0-9a-f]{12}$/.test(sk);
}

/** Whether an item may hold expired messages, which wait for a receiver of their session (semantics #A3). */
function mayWaitExpired(world: World, item: Item): boolean {
  const isInSession = item['sk']?.S?.startsWith('/') === true;
  const mayExpire =
    item['x'] !== undefined ||
    world.scenario.entities.some(
      (entity) =>
        entity.kind !== 'topic' &&
        entity.requiresSession &&
        entity.defaultTimeToLiveMs !== undefined,
    );
  return isInSession && mayExpire;
}

/** Whether an item is a payload, or a reference to one, that a block names. */
function isPayload(item: Item, named: ReadonlySet<string>): boolean {
  const [, rest = ''] = (item['pk']?.S ?? '').split('.');
  return /^\d+p$/.test(rest) && named.has((item['sk']?.S ?? '').replace(/\.(\d+|n)$/, ''));
}

/** Whether an item is an entity, a rule or the sweep's progress. */
function isExplainedDocument(item: Item): boolean {
  const pk = item['pk']?.S ?? '';
  return !/(graves|agenda|orphans)/.test(pk);
}

function describeItem(item: Item): string {
  const { pk, sk, ...rest } = item;
  return `${pk?.S} ${sk?.S} (${Object.keys(rest).join(' ')})`;
}
