import { isDeepStrictEqual } from 'node:util';
import type { ConsumerSettings } from '../../domain/consumers/consumer.ts';
import { consumerKey } from '../../domain/consumers/consumer-key.ts';
import { consumerSettings } from '../../domain/consumers/consumer-settings.ts';
import { pathOf, SUB_QUEUES, type SubQueue } from '../../domain/entities/entity-path.ts';
import { consumerPath } from '../check-consumer.ts';
import type { Faults } from '../faults.ts';
import type { ConsumerConfig } from '../namespace-config.ts';
import { CONSUMER_SETTINGS } from '../setting-table.ts';
import type { ConsumerTarget } from './config-target.ts';

/** What became of a consumer. */
export interface AppliedConsumer {
  /** `orders/$deadletterqueue/Consumers/worker` */
  readonly path: string;
  readonly outcome: 'created' | 'updated' | 'deleted' | 'unchanged';
}

/** What became of the consumers of an entity. `differences` = a sentence for each that stays as it was. */
export interface AppliedConsumers {
  readonly consumers: readonly AppliedConsumer[];
  readonly differences: readonly string[];
}

/** Where consumers are applied to. */
interface ConsumersOf {
  readonly target: ConsumerTarget;
  /** The path of the entity. */
  readonly entity: string;
  /** Collects refusals. */
  readonly faults: Faults;
}

/** A consumer as the namespace has it. */
interface Found {
  readonly subQueue: SubQueue;
  readonly name: string;
  readonly settings: ConsumerSettings;
}

/** Creates the consumers of an entity that has none yet. Refusals are noted. */
export async function createConsumers(
  of: ConsumersOf,
  wanted: readonly ConsumerConfig[],
): Promise<readonly AppliedConsumer[]> {
  return await putEach(of, wanted, 'created');
}

/**
 * Deletes the consumers of an existing entity that the configuration lacks, before the entity is updated, since it may
 * not begin to forward while it has some.
 */
export async function deleteOthers(
  { target, entity }: ConsumersOf,
  wanted: readonly ConsumerConfig[],
): Promise<readonly AppliedConsumer[]> {
  const { left } = await compare({ target, entity }, wanted);
  for (const { subQueue, name } of left) await target.remove(pathOf(entity, subQueue), name);
  return left.map((one) => ({ path: consumerPath(entity, one), outcome: 'deleted' }));
}

/** Makes the consumers of an existing entity as the configuration has them. Refusals are noted. */
export async function updateConsumers(
  of: ConsumersOf,
  wanted: readonly ConsumerConfig[],
): Promise<readonly AppliedConsumer[]> {
  const { added, changed, same } = await compare(of, wanted);
  return [
    ...(await putEach(of, added, 'created')),
    ...(await putEach(of, changed, 'updated')),
    ...same,
  ];
}

/**
 * Creates the consumers that an existing entity lacks and changes no other, even if it is not as the configuration has
 * it. Refusals are noted.
 */
export async function addConsumers(
  of: ConsumersOf,
  wanted: readonly ConsumerConfig[],
): Promise<AppliedConsumers> {
  const { added, changed, same, left } = await compare(of, wanted);
  const created = await putEach(of, added, 'created');
  const kept = changed.map((one) => {
    return { path: consumerPath(of.entity, one), outcome: 'unchanged' as const };
  });
  const others = changed.map((one) => {
    const names = one.others.join(', ');
    return `${consumerPath(of.entity, one)} exists with another ${names}.`;
  });
  const more = left.map((one) => {
    return `${consumerPath(of.entity, one)} exists, and the file lacks it.`;
  });
  return { consumers: [...created, ...kept, ...same], differences: [...others, ...more] };
}

async function putEach(
  { target, entity, faults }: ConsumersOf,
  consumers: readonly ConsumerConfig[],
  outcome: 'created' | 'updated',
): Promise<readonly AppliedConsumer[]> {
  const done: AppliedConsumer[] = [];
  // At most ten, each of which is a change of the same document.
  for (const one of consumers) {
    const { at, subQueue, name, input } = one;
    await faults.attemptLater(
      () => at,
      async () => {
        await target.put(pathOf(entity, subQueue), name, input);
        done.push({ path: consumerPath(entity, one), outcome });
      },
    );
  }
  return done;
}

/** The consumers of a configuration beside those of an entity. `left` = those that only the latter has. */
async function compare(
  { target, entity }: Pick<ConsumersOf, 'target' | 'entity'>,
  wanted: readonly ConsumerConfig[],
) {
  const found = await foundOf(target, entity);
  const keys = new Set(wanted.map(consumerKey));
  const compared = wanted.map((one) => {
    const before = found.get(consumerKey(one));
    return { ...one, isFound: before !== undefined, others: differing(before?.settings, one) };
  });
  return {
    added: compared.filter(({ isFound }) => !isFound),
    changed: compared.filter(({ isFound, others }) => isFound && others.length > 0),
    same: compared
      .filter(({ isFound, others }) => isFound && others.length === 0)
      .map((one) => ({ path: consumerPath(entity, one), outcome: 'unchanged' as const })),
    left: [...found].filter(([key]) => !keys.has(key)).map(([, one]) => one),
  };
}

/** The names of the settings that differ. */
function differing(
  found: ConsumerSettings | undefined,
  { input }: ConsumerConfig,
): readonly string[] {
  const [before, after] = [found ?? {}, consumerSettings(input)].map(
    (settings) => new Map<string, unknown>(Object.entries(settings)),
  );
  return Object.entries(CONSUMER_SETTINGS).flatMap(([name, { field }]) =>
    isDeepStrictEqual(before?.get(field), after?.get(field)) ? [] : [name],
  );
}

async function foundOf(
  target: ConsumerTarget,
  entity: string,
): Promise<ReadonlyMap<string, Found>> {
  const found = new Map<string, Found>();
  for (const subQueue of SUB_QUEUES) {
    for (const { consumer } of await target.list(pathOf(entity, subQueue))) {
      const one = { subQueue, name: consumer.name, settings: consumer };
      found.set(consumerKey(one), one);
    }
  }
  return found;
}
