import { inSession, type Log } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';
import {
  cutBlocks,
  type Numbered,
  type PackedBlock,
  type Packing,
  packBlocks,
} from '../blocks/pack-blocks.ts';
import { sessionPrefix } from '../schema/message-keys.ts';

/** Messages that come due together and, where they lie by session, belong to one. */
export interface Run {
  readonly to: Log;
  readonly dueAt: number | undefined;
  readonly messages: readonly Numbered[];
}

/**
 * A block holds messages of one due time and one session; what is due already is sent now. Messages are
 * numbered as they come or, where they lie by session, session by session: blocks stay full then, and
 * the order that counts is the one within a session. `inOrder`: somebody counts on the order of the batch.
 */
export function toRuns(
  log: Log,
  messages: readonly Message[],
  now: number,
  inOrder: boolean,
): { readonly runs: readonly Run[]; readonly offsets: readonly number[] } {
  const places = new Map<string, { dueAt: number | undefined; to: Log; indexes: number[] }>();
  for (const [index, { scheduledEnqueueAt, sessionId = '' }] of messages.entries()) {
    const isLater = scheduledEnqueueAt !== undefined && scheduledEnqueueAt > now;
    const dueAt = isLater ? scheduledEnqueueAt : undefined;
    const to = log.sessions === undefined ? log : inSession(log, sessionId);
    const key = `${dueAt}${sessionPrefix(to)}`;
    const place = places.get(key);
    if (place === undefined) places.set(key, { dueAt, to, indexes: [index] });
    else place.indexes.push(index);
  }
  const offsets = messages.map((_, index) => index);
  const found = [...places.values()];
  if (log.sessions !== undefined && !inOrder) {
    for (const [offset, index] of found.flatMap(({ indexes }) => indexes).entries()) {
      offsets[index] = offset;
    }
  }
  const runs = found.map(({ indexes, ...place }) => ({
    ...place,
    messages: indexes.flatMap((index) => {
      const message = messages[index];
      return message === undefined ? [] : [{ offset: offsets[index] ?? index, message }];
    }),
  }));
  return { runs, offsets };
}

/** A block that has no number yet, and where it goes. */
export interface PackedRun extends PackedBlock {
  readonly to: Log;
  readonly dueAt: number | undefined;
}

/** A run whose messages are cut into those that make a block each. */
export interface CutRun extends Omit<Run, 'messages'> {
  readonly cuts: readonly (readonly Numbered[])[];
}

/** Cuts runs into what makes a block each. */
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
    const blocks = await packBlocks(to, cuts, dueAt ?? now, packing);
    packed.push(...blocks.map((block) => ({ to, dueAt, ...block })));
  }
  return packed;
}
