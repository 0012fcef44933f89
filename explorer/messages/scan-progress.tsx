import { counted, numberText } from '../ui/format.ts';
import type { MessageScan, ScanState } from './scan.ts';

/** Why messages may be missing in the lists of an entity with sessions. */
export const ONLY_ACTIVE_SESSIONS = 'Only sessions with active messages can be listed.';

const THE_END = 'This is the end of the queue.';

/** A list goes through one session after the other, so its numbers begin again with each. */
const FURTHER_SESSIONS =
  'further ones may follow, of this session and of others, which a narrower filter finds.';

/** How far the list is, and how it goes on. */
export function ScanProgress({
  scan,
  state,
  selected,
  isInSessions,
}: {
  readonly scan: MessageScan;
  readonly state: ScanState;
  readonly selected: number;
  readonly isInSessions: boolean;
}) {
  const { found, scanned, isReading, isAtEnd, isFull, skipped } = state;
  const isEmpty = isAtEnd && scanned === 0;
  const ticked = selected > 0 ? `, ${numberText(selected)} selected` : '';
  const looked = found.length < scanned ? ` of ${numberText(scanned)} that were looked at` : '';
  const last = found.at(-1)?.sequenceNumber;
  return (
    <footer class="progress" aria-live="polite">
      <span>
        {!isEmpty && `${counted(found.length, 'message', 'messages')} shown${looked}${ticked}.`}
        {isAtEnd && !isEmpty && ` ${isInSessions ? ONLY_ACTIVE_SESSIONS : THE_END}`}
        {isFull &&
          ` The page keeps no more: ${isInSessions ? FURTHER_SESSIONS : `go on from number ${(last ?? 0n) + 1n}.`}`}
        {skipped.length > 0 && ` ${skipped.join(' ')}`}
      </span>
      {isReading ? (
        <button type="button" onClick={() => scan.stop()}>
          Stop
        </button>
      ) : (
        !isAtEnd &&
        !isFull && (
          <>
            <button type="button" onClick={() => void scan.more()}>
              Search further
            </button>
            <button type="button" onClick={() => void scan.toEnd()}>
              Search the whole queue
            </button>
          </>
        )
      )}
    </footer>
  );
}
