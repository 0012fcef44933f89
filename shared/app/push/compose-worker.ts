import { logOf } from '../../domain/blocks/log.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { ConsumerReference, Targets } from '../../push/ports.ts';
import type { WorkerDependencies, WorkerSettings } from '../../push/worker-dependencies.ts';
import { DynamoConsumerStates } from '../../storage/consumers/consumer-states.ts';
import { logName } from '../../storage/schema/message-keys.ts';
import type { ComposedDependencies } from '../compose-dependencies.ts';
import { wakeOthers } from './stored-wakes.ts';

/** What a worker needs that depends on where it runs. */
export interface WorkerParts {
  readonly targets: Targets;
  readonly settings: WorkerSettings;
  /** Starts another worker for a consumer. */
  readonly startAnother: (of: ConsumerReference) => Promise<void>;
  readonly reportFault: (error: unknown) => void;
}

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
