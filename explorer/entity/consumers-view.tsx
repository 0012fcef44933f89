import { useCallback, useEffect, useState } from 'preact/hooks';
import { listConsumers, type ShownConsumer } from '../../client/consumers.ts';
import { partPathOf, type SubQueue, subQueueOf } from '../../client/entity-path.ts';
import { useConnection } from '../namespace/connection.ts';
import { changeConsumer } from '../namespace/manage.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Time } from '../ui/time.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useObservable } from '../ui/use-observable.ts';

const QUEUES: readonly SubQueue[] = ['main', 'deadLetter', 'transferDeadLetter'];

interface PlacedConsumer {
  readonly path: string;
  readonly consumer: ShownConsumer;
}

/** How it goes, as far as it is known. */
interface ConsumerState {
  readonly isRunning?: boolean;
  readonly lastError?: string;
  readonly lastErrorAt?: string;
  readonly retryAt?: string;
}

/** The consumers of an entity and its dead-letter queues: what they call, and how it goes. */
export function ConsumersView({ entity }: { readonly entity: string }) {
  const { caller, isReadOnly } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const [consumers, setConsumers] = useState<readonly PlacedConsumer[]>();
  const { attempt, error, isBusy } = useAttempt();
  const load = useCallback(async () => {
    const lists = QUEUES.map(async (subQueue) => {
      const path = subQueueOf(entity, subQueue).text;
      return (await listConsumers(caller, path)).map((consumer) => ({ path, consumer }));
    });
    setConsumers((await Promise.all(lists)).flat());
  }, [caller, entity]);
  const read = useCallback(() => attempt(load), [attempt, load]);
  useEffect(() => {
    void read();
  }, [read]);
  /** Replaces a consumer, also by what it is already: that ends a pause. */
  const replace = ({ path, consumer }: PlacedConsumer, part: { enabled?: boolean }) =>
    attempt(async () => {
      const itsPath = partPathOf(`${path}/consumers`, consumer.name);
      try {
        await changeConsumer(caller, itsPath, (now) => ({ ...now, ...part }));
      } catch (failure) {
        // It may be changed, or somebody else has changed it.
        await load().catch(() => undefined);
        throw failure;
      }
      await load();
    });
  return (
    <section class="sheet">
      {error !== undefined && <ErrorNotice error={error} />}
      {consumers?.length === 0 && (
        <p class="hint">
          No consumer: nothing pushes these messages. <code>npx dynabus consumer</code> adds one.
        </p>
      )}
      <ul class="cards">
        {consumers?.map((placed) => (
          <li key={`${placed.path} ${placed.consumer.name}`}>
            <h2>
              {placed.consumer.name} <small>{placed.path}</small>
            </h2>
            <p>{placed.consumer.target}</p>
            <State consumer={placed.consumer} />
            {!readOnly && (
              <button
                type="button"
                disabled={isBusy}
                onClick={() =>
                  void replace(placed, { enabled: placed.consumer['enabled'] !== true })
                }
              >
                {placed.consumer['enabled'] === true ? 'Disable' : 'Enable'}
              </button>
            )}
            {!readOnly && stateOf(placed.consumer).retryAt !== undefined && (
              <button type="button" disabled={isBusy} onClick={() => void replace(placed, {})}>
                Try now
              </button>
            )}
          </li>
        ))}
      </ul>
      <button type="button" disabled={isBusy} onClick={() => void read()}>
        Refresh
      </button>
    </section>
  );
}

function stateOf(consumer: ShownConsumer): ConsumerState {
  return (consumer['state'] ?? {}) as ConsumerState;
}

function State({ consumer }: { readonly consumer: ShownConsumer }) {
  const { isRunning = false, lastError, lastErrorAt, retryAt } = stateOf(consumer);
  const now = consumer['enabled'] === true ? (isRunning ? 'pushing' : 'waiting') : 'disabled';
  return (
    <>
      <p>
        {now}
        {retryAt !== undefined && (
          <>
            , tries again at <Time at={Date.parse(retryAt)} />
          </>
        )}
      </p>
      {lastError !== undefined && (
        <p class="notice bad">
          {lastErrorAt !== undefined && <Time at={Date.parse(lastErrorAt)} />} {lastError}
        </p>
      )}
    </>
  );
}
