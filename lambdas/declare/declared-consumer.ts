import { updateConsumers } from '../../shared/config/apply/apply-consumers.ts';
import { Faults } from '../../shared/config/faults.ts';
import { readLoneConsumer } from '../../shared/config/lone-consumer.ts';
import type { ConsumerConfig } from '../../shared/config/namespace-config.ts';
import { argumentError } from '../../shared/domain/broker-error.ts';
import type { Consumer } from '../../shared/domain/consumers/consumer.ts';
import { consumerKey, parseConsumerKey } from '../../shared/domain/consumers/consumer-key.ts';
import type { ConsumerInput } from '../../shared/domain/consumers/consumer-settings.ts';
import { consumersOf } from '../../shared/domain/entities/entity.ts';
import {
  parseEntityPath,
  pathOf,
  requireChildName,
} from '../../shared/domain/entities/entity-path.ts';
import { present } from '../../shared/domain/present.ts';
import { claim, disown, isHeld } from './claim.ts';
import { except, targetOf } from './declared-entity.ts';
import type { DeclareDependencies } from './dependencies.ts';
import type { Adoption, Claimant } from './ownership.ts';
import { repeat } from './repeat.ts';
import { undoOnFailure } from './undo.ts';

/** A consumer of a queue, a subscription or one of their dead-letter queues that a stack declares. */
export interface DeclaredConsumer {
  /** By which CloudFormation knows it. */
  readonly key: string;
  /** The path of the entity, without a dead-letter queue. */
  readonly entity: string;
  readonly config: ConsumerConfig;
  readonly adoption: Adoption;
}

/** Between the key of an entity and that of its consumer. No name has a `$`, so no queue has the key of a consumer. */
const INFIX = '/$consumers/';

/** Whether an id is that of a declared consumer. */
export function isKeyOfConsumer(id: string): boolean {
  return id.includes(INFIX);
}

/**
 * Reads the properties of a resource. `Entity` may be the path of a dead-letter queue; `Settings` = the text of a JSON
 * object in the short form of configurations, without the target. Throws ArgumentError with a line for each fault.
 */
export function readDeclaredConsumer({
  Entity: path,
  ConsumerName: name,
  Target: target,
  Settings: settings,
  Adopt: adopt,
}: Readonly<Record<string, unknown>>): DeclaredConsumer {
  if (typeof path !== 'string' || typeof name !== 'string' || typeof settings !== 'string') {
    throw argumentError('The properties Entity, ConsumerName and Settings are missing.');
  }
  const { key, name: entity, subQueue } = parseEntityPath(path);
  requireChildName(name);
  const faults = new Faults();
  const input = readLoneConsumer({ ...JSON.parse(settings), target }, faults);
  if (input === undefined) throw argumentError(faults.lines.join('\n'));
  return {
    key: `${key}${INFIX}${consumerKey({ subQueue, name })}`,
    entity,
    config: { at: '', subQueue, name, input },
    // A consumer may move to another construct of its stack, with its state.
    adoption: { adopts: adopt === 'true', moves: true },
  };
}

/**
 * Makes a consumer as it is declared, whatever it was before. The same call again changes nothing. Throws
 * ArgumentError, InvalidOperation, QuotaExceeded, MessagingEntityNotFound.
 */
export async function putConsumer(
  dependencies: DeclareDependencies,
  declared: DeclaredConsumer,
  by: Claimant,
  known: string | undefined,
): Promise<void> {
  const { key, entity, config, adoption } = declared;
  const path = pathOf(entity, config.subQueue);
  let before: ConsumerInput | undefined;
  const isRepeated = await repeat(dependencies, async () => {
    before = await foundConsumer(dependencies, declared);
    const title = `consumer '${config.name}' of '${path}'`;
    const exists = before !== undefined;
    const wanted = { ...by, key, title, exists, known, adoption, consumer: before };
    return (await claim(dependencies, wanted)) && exists;
  });
  await undoOnFailure(
    { isKnown: known === key, isRepeated },
    () => deleteConsumer(dependencies, key, by),
    async () => {
      const faults = new Faults();
      const target = targetOf(dependencies).consumers;
      await updateConsumers({ target, entity, faults }, [config]);
      if (faults.count > 0) throw argumentError(faults.lines.join('\n'));
      // CloudFormation deletes what it creates while that is under way, if another resource has failed.
      if (known === key || (await isHeld(dependencies, key, by))) return;
      if (before === undefined) await removeConsumer(dependencies, key);
      else await restoreConsumer(dependencies, key, before);
      throw argumentError('CloudFormation has deleted the resource while it was created.');
    },
  );
}

/**
 * Deletes a consumer, if this resource has made it; its messages stay. One that this resource has taken over goes back,
 * with the settings that it had. What is gone already, perhaps with its entity, is left alone.
 */
export async function deleteConsumer(
  dependencies: DeclareDependencies,
  key: string,
  by: Claimant,
): Promise<void> {
  const undoing = {
    remove: () => removeConsumer(dependencies, key),
    restoreConsumer: (settings: ConsumerInput) => restoreConsumer(dependencies, key, settings),
  };
  await repeat(dependencies, () => disown(dependencies, key, { ...by, leaves: false }, undoing));
}

async function removeConsumer(dependencies: DeclareDependencies, key: string): Promise<void> {
  const { path, name } = placeOf(key);
  // A topic may have the name of a queue that is gone.
  const isOfTopic = except('InvalidOperation');
  await targetOf(dependencies).consumers.remove(path, name).catch(isOfTopic);
}

/** Gives a consumer the settings that it had, if its entity is there. */
async function restoreConsumer(
  dependencies: DeclareDependencies,
  key: string,
  settings: ConsumerInput,
): Promise<void> {
  const { path, name } = placeOf(key);
  const { consumers } = targetOf(dependencies);
  await consumers.put(path, name, settings).catch(except('MessagingEntityNotFound'));
}

/** The settings of the consumer as it is now; undefined = there is none. Throws MessagingEntityNotFound. */
async function foundConsumer(
  { management }: DeclareDependencies,
  { entity, config }: DeclaredConsumer,
): Promise<ConsumerInput | undefined> {
  const consumer = consumersOf(await management.get(entity))[consumerKey(config)];
  return consumer && settingsOf(consumer);
}

function settingsOf(consumer: Consumer): ConsumerInput {
  const { target, maxBatch, batchWindowMs, maxConcurrency, maxPerSecond, timeoutMs, enabled } =
    consumer;
  const limits = { maxBatch, batchWindowMs, maxConcurrency, timeoutMs, enabled };
  return { target, ...limits, ...present({ maxPerSecond }) };
}

/** The path of the queue or dead-letter queue, and the name of the consumer in it. */
function placeOf(key: string): { readonly path: string; readonly name: string } {
  const [entity = '', consumer = ''] = key.split(INFIX);
  const { subQueue, name } = parseConsumerKey(consumer) ?? { subQueue: 'main', name: consumer };
  return { path: pathOf(entity, subQueue), name };
}
