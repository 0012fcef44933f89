import type { Log } from '../../domain/blocks/log.ts';

/** Which partitions of an entity may have messages, as far as this process knows. Only hints. */
export interface PartitionHints {
  /** Whether messages arrived or were found in the log, and no later look was empty. */
  mayHaveMessages(log: Log): boolean;
  /** Whether the last look at the log was some time ago. */
  isDueForLook(log: Log): boolean;
  /** Notes the start of a look at the log. Call the result at its end: may the log have more messages? */
  beginLook(log: Log): (mayHaveMessages: boolean) => void;
}
