import { useCallback, useEffect, useState } from 'preact/hooks';
import type { ListedEntity } from '../../client/everything.ts';
import { useConnection } from '../namespace/connection.ts';
import { readEntity, type ShownEntity } from '../namespace/entity.ts';
import { CreateDialog } from '../overview/create-dialog.tsx';
import { EntityTable } from '../overview/entity-table.tsx';
import { arrange, type SortKey } from '../overview/sort-entities.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { countText } from '../ui/format.ts';
import { useAttempt } from '../ui/use-attempt.ts';
import { useInterval } from '../ui/use-interval.ts';
import { useObservable } from '../ui/use-observable.ts';

const PAGE = 100;
const ALL = { text: '', onlyDeadLetters: false } as const;

/** The subscriptions of a topic. */
export function SubscriptionsView({
  topic: { name: topic, scheduled, isEstimate },
}: {
  readonly topic: ShownEntity;
}) {
  const { caller, list, isReadOnly, pauseMs } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const [entities, setEntities] = useState<readonly ShownEntity[]>([]);
  const [isRead, setRead] = useState(false);
  const [sortKey, setSortKey] = useState<SortKey>('attention');
  const [isCreating, setCreating] = useState(false);
  const { attempt, error, isBusy } = useAttempt();
  const [reloadKey, setReloadKey] = useState(0);
  const reload = useCallback(() => setReloadKey((before) => before + 1), []);
  useEffect(() => {
    void attempt(async () => {
      const found: ShownEntity[] = [];
      for (;;) {
        const query = { $skip: found.length, $top: PAGE };
        const path = `${topic}/Subscriptions`;
        const { text } = await caller.call({ method: 'GET', path, query });
        const page = JSON.parse(text) as {
          readonly entities: readonly ListedEntity[];
          readonly next?: string;
        };
        found.push(...page.entities.map((one) => readEntity(one)));
        if (page.next === undefined || page.entities.length === 0) break;
      }
      setEntities(found);
      setRead(true);
    });
  }, [attempt, caller, topic, reloadKey]);
  useInterval(isBusy ? undefined : pauseMs, reload);
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      {scheduled > 0 && (
        <p class="hint">
          {countText(scheduled, isEstimate)} scheduled in this topic: nobody can look at them before
          they are due and go to the subscriptions.
        </p>
      )}
      {!readOnly && (
        <div class="actions">
          <button type="button" onClick={() => setCreating(true)}>
            Add a subscription…
          </button>
        </div>
      )}
      {isRead && entities.length === 0 ? (
        <p class="empty">This topic has no subscription: what is sent to it is dropped.</p>
      ) : (
        <EntityTable
          entities={arrange(entities, ALL, sortKey)}
          history={list.history}
          sortKey={sortKey}
          onSort={setSortKey}
        />
      )}
      {isCreating && <CreateDialog topic={topic} onClose={() => setCreating(false)} />}
    </>
  );
}
