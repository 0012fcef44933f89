import type { EntityListState } from '../namespace/entity-list.ts';
import { spanText } from '../ui/format.ts';
import { useNow } from '../ui/now.ts';

/** Says how old the counts are, marks old ones, and reads them again at once. */
export function Freshness({
  state: { readAt, isReading, isCut },
  oldMs,
  onRefresh,
}: {
  readonly state: EntityListState;
  /** Counts that are older are marked. */
  readonly oldMs: number;
  readonly onRefresh: () => void;
}) {
  const now = useNow();
  const age = readAt === undefined ? undefined : Math.max(0, now - readAt);
  const isOld = age !== undefined && age > oldMs;
  return (
    <span class={isOld ? 'freshness old' : 'freshness'}>
      {isCut && 'The first 50,000. '}
      {age !== undefined &&
        `${isOld ? 'Not updated for' : 'Updated'} ${spanText(age)}${isOld ? '' : ' ago'}`}
      <button type="button" class="quiet" disabled={isReading} onClick={onRefresh}>
        {isReading ? 'Reading…' : 'Refresh'}
      </button>
    </span>
  );
}
