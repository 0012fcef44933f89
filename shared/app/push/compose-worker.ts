import { logOf } from '../../domain/blocks/log.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { WorkerDependencies } from '../../push/worker-dependencies.ts';
import { DynamoConsumerStates } from '../../storage/consumers/consumer-states.ts';
import { logName } from '../../storage/schema/message-keys.ts';
import type { ComposedDependencies } from '../compose-dependencies.ts';
import { wakeOthers } from './stored-wakes.ts';

/** What a worker needs that depends on where it runs. */
export type WorkerParts = Pick<
  WorkerDependencies,
  'targets' | 'settings' | 'startAnother' | 'tellFault' | 'reportFault'
>;

/** Composes what a worker works with, from the dependencies of a namespace. */
export function composeWorker(
  dependencies: ComposedDependencies,
  parts: WorkerParts,
): WorkerDependencies {
  const { broker, entities, documents, namespace, clock, ages, scheduler, random } = dependencies;
  const { context, dueWork } = dependencies;
  return {
    ...parts,
    broker,
    entities,
    states: new DynamoConsumerStates(documents, namespace),
    clock,
    ages,
    scheduler,
    random,
    forgetHints: (entity, subQueue) => {
      for (const partition of partitionNumbers(entity)) {
        context.scanHints.invalidate(logName(logOf(entity, subQueue, partition)));
      }
    },
    wakeOthers: (entity, of) =>
      wakeOthers({ documents, namespace, clock }, entity, of, parts.startAnother),
    remind: (entity, at) => dueWork.add(logOf(entity, 'main', 0), at),
  };
}
