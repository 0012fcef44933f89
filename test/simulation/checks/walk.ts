import { TABLES } from '../engine/process.ts';
import type { World } from '../engine/world.ts';
import type { Item } from '../tables/database.ts';
import { type Violation, violation } from './violation.ts';

/** Once everything was received and swept, each item that is left belongs to something that is there. */
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
 * The head of a partition, or the state of a session, of an entity that is there. Deferred messages that have
 * expired stay until somebody asks for them (semantics L7).
 */
function isExplained(item: Item, ids: ReadonlySet<string>): boolean {
  const [id = '', rest = ''] = (item['pk']?.S ?? '').split('.');
  if (!ids.has(id)) return false;
  const sk = item['sk']?.S ?? '';
  return sk === 'head' || /^\d+k$/.test(rest) || /(^|\/)d[0-9a-f]{12}$/.test(sk);
}

/** What has expired waits for a receiver (semantics #A3); nobody comes to a session that is not listed. */
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

/** A body that a block names, which is explained itself, or who shares it. */
function isPayload(item: Item, named: ReadonlySet<string>): boolean {
  const [, rest = ''] = (item['pk']?.S ?? '').split('.');
  return /^\d+p$/.test(rest) && named.has((item['sk']?.S ?? '').replace(/\.(\d+|n)$/, ''));
}

/** Entities, rules, and where the sweep has come. */
function isExplainedDocument(item: Item): boolean {
  const pk = item['pk']?.S ?? '';
  return !/(graves|agenda|orphans)/.test(pk);
}

function describeItem(item: Item): string {
  const { pk, sk, ...rest } = item;
  return `${pk?.S} ${sk?.S} (${Object.keys(rest).join(' ')})`;
}
