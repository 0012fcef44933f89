import { EVENT_CLAIM_BYTES } from '../../lambdas/push/event/print-event.ts';
import type { ComposedDependencies } from '../../shared/app/compose-dependencies.ts';
import type { WakingStores } from '../../shared/app/namespace-settings.ts';
import { composeWorker } from '../../shared/app/push/compose-worker.ts';
import { enabledConsumers, START_NONE, storedWakes } from '../../shared/app/push/stored-wakes.ts';
import type { ConsumerWakes } from '../../shared/broker/ports/consumer-wakes.ts';
import type { PushManagement } from '../../shared/broker/ports/management.ts';
import { parseTarget } from '../../shared/domain/consumers/target.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import type { SubQueue } from '../../shared/domain/entities/entity-path.ts';
import { MB, SECOND_MS } from '../../shared/domain/units.ts';
import { placeOf } from '../../shared/push/current-consumer.ts';
import type { WorkerSettings } from '../../shared/push/worker-dependencies.ts';
import type { MovableClock } from '../movable-clock.ts';
import { Dispatcher } from './dispatcher.ts';
import { type HttpTargets, httpTargets } from './http-target.ts';
import { Reminders } from './reminders.ts';

/** On this machine a worker that waits costs nothing but its place. */
export const LOCAL_WORKERS: WorkerSettings = {
  lingerMs: 2 * SECOND_MS,
  waitMsMax: 10 * SECOND_MS,
  // Whoever works on a target starts it again and again.
  pauseMsMax: 30 * SECOND_MS,
  graceMs: 2 * SECOND_MS,
  heldBytesMax: 64 * MB,
  claim: { form: 'batch', bytes: EVENT_CLAIM_BYTES, oneMayExceed: true },
};
/** What an event says about where it comes from. */
const ORIGIN = { region: 'us-east-1', account: '000000000000' } as const;

/**
 * Pushes the messages of a namespace of the local server to HTTP addresses of this machine. It hears at once of what
 * this server stores; what another server on the same tables stores, its sweep finds.
 */
export class LocalPush {
  /** What management asks about targets. */
  readonly management: PushManagement = { allowsTarget: refusalOf };
  readonly #clock: MovableClock;
  readonly #reportError: (error: unknown) => void;
  readonly #warn: (sentence: string) => void;
  readonly #reminders: Reminders;
  #stores: WakingStores | undefined;
  #dispatcher: Dispatcher | undefined;
  #targets: HttpTargets | undefined;
  #isClosed = false;

  /** `warn` receives a sentence for each fault of a target that begins. */
  constructor(
    clock: MovableClock,
    {
      warn,
      reportError,
    }: {
      readonly warn: (sentence: string) => void;
      readonly reportError: (error: unknown) => void;
    },
  ) {
    this.#clock = clock;
    this.#warn = warn;
    this.#reportError = reportError;
    this.#reminders = new Reminders(clock, (entityKey) => this.#wake(entityKey));
  }

  /** Makes what hears of messages of logs that have consumers. */
  readonly wakes = (stores: WakingStores): ConsumerWakes => {
    this.#stores = stores;
    // A server that starts later on the same data finds the due work.
    const stored = storedWakes(stores, START_NONE);
    return {
      available: ({ entityKey, subQueue }) => this.#wake(entityKey, subQueue),
      availableAt: (log, instant) => {
        this.#reminders.add(log.entityKey, instant);
        stored.availableAt(log, instant);
      },
      wakeAll: async (entity) => this.#wakeAll(entity),
    };
  };

  /** Starts to push, also what waits already. */
  start(dependencies: ComposedDependencies): void {
    const { scheduler } = dependencies;
    const targets = httpTargets({ scheduler, clock: dependencies.clock, origin: ORIGIN });
    this.#targets = targets;
    const worker = composeWorker(dependencies, {
      targets,
      settings: LOCAL_WORKERS,
      startAnother: async (of) => this.#dispatcher?.wake(of),
      tellFault: (of, { error }) => {
        const { path, name } = placeOf(of);
        this.#warn(`The consumer '${name}' of '${path}' fails: ${error}`);
      },
      reportFault: this.#reportError,
    });
    const { remind } = worker;
    this.#dispatcher = new Dispatcher({
      ...worker,
      onClockMove: (listener) => this.#clock.onMove(listener),
      remind: async (entity, at) => {
        this.#reminders.add(entity.key, at);
        await remind(entity, at);
      },
    });
    dependencies.background.add(() => this.#wakeEverything(dependencies).catch(this.#reportError));
  }

  /** Ends the calls, after a moment. What it still reads is background work of the namespace. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reminders.close();
    await this.#dispatcher?.close();
    this.#targets?.close();
  }

  async #wakeEverything({ entities }: ComposedDependencies): Promise<void> {
    for await (const entity of entities.everything()) {
      if (this.#isClosed) return;
      this.#wakeAll(entity);
    }
  }

  /** Wakes the consumers of a queue, or of all queues of an entity. */
  #wake(entityKey: string, subQueue?: SubQueue): void {
    const stores = this.#stores;
    if (stores === undefined || this.#isClosed) return;
    stores.background(async () => {
      try {
        const entity = await stores.entities.find(entityKey);
        if (entity) this.#wakeAll(entity, subQueue);
      } catch (error) {
        this.#reportError(error);
      }
    });
  }

  #wakeAll(entity: Entity, subQueue?: SubQueue): void {
    for (const of of enabledConsumers(entity, subQueue)) this.#dispatcher?.wake(of);
  }
}

/** Why a consumer of a local namespace may not have a target. Throws ArgumentError for one that is none. */
function refusalOf(target: string): string | undefined {
  if (parseTarget(target).kind === 'local') return undefined;
  return `A local server calls no Lambda functions: let the target be an address such as 'http://127.0.0.1:3000/orders', at which a server calls your handler.`;
}
