import type { Log } from '../../domain/blocks/log.ts';

/** What this process saw of where messages are; hints only, for those who have a choice of logs. */
export interface Whereabouts {
  /** Whether something came into the log, or was found there, and no look since was in vain. */
  isLikely(log: Log): boolean;
  /** Whether nobody has looked into the log for a while. */
  isOverdue(log: Log): boolean;
  /** Notes a look into the log; to be told at its end whether there seems to be more. */
  beginLook(log: Log): (isLikely: boolean) => void;
}
