import { useEffect, useRef, useState } from 'preact/hooks';
import { useConnection } from '../namespace/connection.ts';
import { deadLettersOf, type ShownEntity } from '../namespace/entity.ts';
import type { EntityListState } from '../namespace/entity-list.ts';
import { isWithoutRight } from '../namespace/manage.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { counted } from '../ui/format.ts';
import { useObservable } from '../ui/use-observable.ts';
import { CreateDialog } from './create-dialog.tsx';
import { EntityTable } from './entity-table.tsx';
import { Freshness } from './freshness.tsx';
import { OpenEntity } from './open-entity.tsx';
import { arrange, type EntityFilter, type SortKey } from './sort-entities.ts';

/** All queues, topics and subscriptions with their counts; those with dead letters first. */
export function Overview() {
  const { list, isReadOnly } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const [isCreating, setCreating] = useState(false);
  const state = useObservable(list.state);
  const [filter, setFilter] = useState<EntityFilter>({ text: '', onlyDeadLetters: false });
  const [sortKey, setSortKey] = useState<SortKey>('attention');
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    void list.refresh();
    return () => list.pause();
  }, [list]);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTextField(event.target)) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const shown = arrange(state.entities, filter, sortKey);
  return (
    <>
      <div class="toolbar">
        <h1>{summaryOf(state)}</h1>
        <label class="search">
          <span class="unseen">Part of a name</span>
          <input
            ref={search}
            type="search"
            placeholder="Filter by name ( / )"
            value={filter.text}
            onInput={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={filter.onlyDeadLetters}
            onChange={(event) =>
              setFilter({ ...filter, onlyDeadLetters: event.currentTarget.checked })
            }
          />
          Dead letters only
        </label>
        {!readOnly && (
          <button type="button" onClick={() => setCreating(true)}>
            Create…
          </button>
        )}
        <Freshness state={state} oldMs={list.oldMs} onRefresh={() => void list.refresh()} />
      </div>
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
      {state.error !== undefined && <ErrorNotice error={state.error} />}
      {isWithoutRight(state.error) && <OpenEntity />}
      {state.readAt !== undefined && shown.length === 0 ? (
        <Empty isFiltered={state.entities.length > 0} />
      ) : (
        <EntityTable
          entities={shown}
          history={list.history}
          sortKey={sortKey}
          onSort={setSortKey}
        />
      )}
    </>
  );
}

/** Whether a key is a letter that somebody writes there. */
function isTextField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type !== 'checkbox';
}

function summaryOf({ entities, readAt, isReading }: EntityListState): string {
  if (readAt === undefined && entities.length === 0) return isReading ? 'Reading…' : 'Not read';
  const dead = entities.reduce((sum, entity: ShownEntity) => sum + deadLettersOf(entity), 0);
  const letters = dead === 0 ? 'no dead letters' : counted(dead, 'dead letter', 'dead letters');
  const known = counted(entities.length, 'entity', 'entities');
  // Those that were not read yet may have dead letters.
  return readAt === undefined ? `${known} so far` : `${known}, ${letters}`;
}

function Empty({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="empty">No entity matches the filter.</p>;
  return (
    <div class="empty">
      <p>This namespace has no queues and topics yet.</p>
      <p>
        Create one here, with <code>npx dynabus import</code>, or from your code.
      </p>
    </div>
  );
}
