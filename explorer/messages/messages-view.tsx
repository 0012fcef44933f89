import { useCallback, useEffect, useState } from 'preact/hooks';
import { ActionBar } from '../actions/action-bar.tsx';
import type { ShownEntity } from '../namespace/entity.ts';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { isEmptyFilter, type MessageFilter, NO_FILTER } from './filter.ts';
import { FilterBar } from './filter-bar.tsx';
import { MessageDetails } from './message-details.tsx';
import { MessageTable } from './message-table.tsx';
import { ONLY_ACTIVE_SESSIONS, ScanProgress } from './scan-progress.tsx';
import type { MessageTab } from './tabs.ts';
import { useScan } from './use-scan.ts';

/** What is looked for. */
interface Search {
  readonly filter: MessageFilter;
  readonly from: bigint | undefined;
  /** A bar with another number is drawn anew, with empty fields. */
  readonly bar: number;
}

const ALL: Search = { filter: NO_FILTER, from: undefined, bar: 0 };

/** The messages of one tab of a queue or subscription, with those that are chosen. */
export function MessagesView({
  entity,
  tab,
  onChanged,
}: {
  readonly entity: ShownEntity;
  readonly tab: MessageTab;
  /** Called when the counts of the entity may be others. */
  readonly onChanged: () => void;
}) {
  const { name } = entity;
  const [{ filter, from, bar }, setSearch] = useState<Search>(ALL);
  const [selected, setSelected] = useState<ReadonlySet<bigint>>(new Set());
  const [opened, setOpened] = useState<bigint>();
  const { scan, state, reload } = useScan(name, tab, filter, from);
  // What is still there after work stays ticked, so that it can be tried again.
  useEffect(() => setSelected(new Set()), [name, tab, filter, from]);
  const chosen = state.found.filter(({ sequenceNumber }) => selected.has(sequenceNumber));
  const shownSelected = new Set(chosen.map(({ sequenceNumber }) => sequenceNumber));
  const more = useCallback(() => {
    // A filter reads much to show little, so that it goes on only when it is asked to.
    if (isEmptyFilter(filter) && !tab.isSparse) void scan.more();
  }, [scan, filter, tab]);
  const isInSessions = entity.requiresSession && tab.subQueue === 'main';
  const refresh = () => {
    reload();
    onChanged();
  };
  const shown = state.found.find(({ sequenceNumber }) => sequenceNumber === opened);
  return (
    <>
      <FilterBar
        key={bar}
        filter={filter}
        from={from}
        state={state}
        onSearch={(filter, from) => setSearch({ filter, from, bar })}
        onRefresh={refresh}
      />
      <ActionBar subject={{ entity, tab, filter, chosen }} onChanged={refresh} />
      {state.error !== undefined && <ErrorNotice error={state.error} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape is a short way to its button Close. */}
      <div
        class={shown === undefined ? 'beside' : 'beside with-details'}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpened(undefined);
        }}
      >
        {state.isAtEnd && state.found.length === 0 ? (
          <Empty
            why={emptyText({
              tab,
              isFiltered: state.scanned > 0 && !isEmptyFilter(filter),
              isInSessions,
              from,
            })}
            onShowAll={
              isEmptyFilter(filter) && from === undefined
                ? undefined
                : () => setSearch({ ...ALL, bar: bar + 1 })
            }
          />
        ) : (
          <MessageTable
            tab={tab}
            messages={state.found}
            selected={shownSelected}
            opened={opened}
            onSelect={setSelected}
            onOpen={setOpened}
            onNearEnd={more}
          />
        )}
        {shown !== undefined && (
          <ErrorBoundary key={shown.sequenceNumber}>
            <MessageDetails message={shown} onClose={() => setOpened(undefined)} />
          </ErrorBoundary>
        )}
      </div>
      <ScanProgress
        scan={scan}
        state={state}
        selected={chosen.length}
        isInSessions={isInSessions}
      />
    </>
  );
}

function Empty({
  why,
  onShowAll,
}: {
  readonly why: string;
  /** Absent where all are shown. */
  readonly onShowAll: (() => void) | undefined;
}) {
  return (
    <div class="empty">
      <p>{why}</p>
      {onShowAll !== undefined && (
        <button type="button" onClick={onShowAll}>
          Show all
        </button>
      )}
    </div>
  );
}

/** Says why there is nothing, and what would be here. */
function emptyText({
  tab,
  isFiltered,
  isInSessions,
  from,
}: {
  readonly tab: MessageTab;
  readonly isFiltered: boolean;
  readonly isInSessions: boolean;
  /** The number with which the list begins. */
  readonly from: bigint | undefined;
}): string {
  if (isFiltered) return 'No message matches the filter.';
  if (from !== undefined) return `No message has the number ${from} or a higher one.`;
  return isInSessions ? ONLY_ACTIVE_SESSIONS : tab.empty;
}
