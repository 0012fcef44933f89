import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';
import {
  cutBlocks,
  type Numbered,
  type PackedBlock,
  type Packing,
  packBlocks,
} from '../blocks/pack-blocks.ts';
import { sessionPrefix } from '../schema/message-keys.ts';

/** Messages of a send with the same due time and, in an entity that requires sessions, the same session. */
export interface Run {
  readonly to: Log;
  readonly dueAt: number | undefined;
  readonly messages: readonly Numbered[];
}

/**
 * Splits messages by due time and session, because a block has one of each; messages that are due already are active
 * (semantics #65). With sessions, messages are numbered session by session, which keeps blocks full, unless `inOrder`
 * requires the order of the batch; only the order within a session matters to receivers.
 */
export function toRuns(
  log: Log,
  messages: readonly Message[],
  now: number,
  inOrder: boolean,
): { readonly runs: readonly Run[]; readonly offsets: readonly number[] } {
  const runsByKey = new Map<string, { dueAt: number | undefined; to: Log; indexes: number[] }>();
  for (const [index, { scheduledEnqueueAt, sessionId = '' }] of messages.entries()) {
    const isLater = scheduledEnqueueAt !== undefined && scheduledEnqueueAt > now;
    const dueAt = isLater ? scheduledEnqueueAt : undefined;
    const to = log.sessions === undefined ? log : logOfSession(log, sessionId);
    const key = `${dueAt}${sessionPrefix(to)}`;
    const run = runsByKey.get(key);
    if (run === undefined) runsByKey.set(key, { dueAt, to, indexes: [index] });
    else run.indexes.push(index);
  }
  const offsets = messages.map((_, index) => index);
  const found = [...runsByKey.values()];
  if (log.sessions !== undefined && !inOrder) {
    for (const [offset, index] of found.flatMap(({ indexes }) => indexes).entries()) {
      offsets[index] = offset;
    }
  }
  const runs = found.map(({ indexes, ...run }) => ({
    ...run,
    messages: indexes.flatMap((index) => {
      const message = messages[index];
      return message === undefined ? [] : [{ offset: offsets[index] ?? index, message }];
    }),
  }));
  return { runs, offsets };
}

/** A block without a number yet, and the log that it goes to. */
export interface PackedRun extends PackedBlock {
  readonly to: Log;
  readonly dueAt: number | undefined;
}

/** A run whose messages are cut into groups of one block each. */
export interface CutRun extends Omit<Run, 'messages'> {
  readonly cuts: readonly (readonly Numbered[])[];
}

/** Cuts runs into groups of one block each. */
export function cutRuns(runs: readonly Run[]): readonly CutRun[] {
  return runs.map(({ to, dueAt, messages }) => ({ to, dueAt, cuts: cutBlocks(to, messages) }));
}

/** Makes blocks of runs. */
export async function packRuns(
  runs: readonly CutRun[],
  now: number,
  packing: Packing,
): Promise<readonly PackedRun[]> {
  const packed: PackedRun[] = [];
  for (const { to, dueAt, cuts } of runs) {
    // The time to live of a scheduled message counts from its time (semantics #A9).
    const blocks = await packBlocks(to, cuts, dueAt ?? now, packing);
    packed.push(...blocks.map((block) => ({ to, dueAt, ...block })));
  }
  return packed;
}
