import { type ClientPath, subQueueOf } from '../../client/entity-path.ts';
import type { ShownEntity } from '../namespace/entity.ts';

/** A tab with messages of one state. */
export interface MessageTab {
  /** As the address of the page has it. */
  readonly id: 'active' | 'dead-letter' | 'scheduled' | 'deferred' | 'transfer';
  readonly title: string;
  readonly subQueue: ClientPath['subQueue'];
  /** The `State` of its messages; undefined = all that are in the queue. */
  readonly state?: 'Active' | 'Scheduled' | 'Deferred';
  /** Its messages may be few among many others, so that they are looked for only when somebody asks. */
  readonly isSparse?: true;
  readonly countOf: (entity: ShownEntity) => number;
  /** Said where there are none. */
  readonly empty: string;
}

/** The tabs of a queue or subscription, in order. */
export const MESSAGE_TABS: readonly MessageTab[] = [
  {
    id: 'active',
    title: 'Active',
    subQueue: 'main',
    state: 'Active',
    countOf: ({ active }) => active,
    empty: 'No active messages: all were taken, or none came yet.',
  },
  {
    id: 'dead-letter',
    title: 'Dead-letter',
    subQueue: 'deadLetter',
    countOf: ({ deadLetter }) => deadLetter,
    empty:
      'No dead letters. Messages come here when a receiver dead-letters them, when they were delivered too often, or when they expire.',
  },
  {
    id: 'scheduled',
    title: 'Scheduled',
    subQueue: 'main',
    state: 'Scheduled',
    isSparse: true,
    countOf: ({ scheduled }) => scheduled,
    empty: 'Nothing is scheduled. The tab Send can send a message that is due later.',
  },
  {
    id: 'deferred',
    title: 'Deferred',
    subQueue: 'main',
    state: 'Deferred',
    isSparse: true,
    countOf: ({ deferred }) => deferred,
    empty: 'Nothing is deferred. A receiver defers what it wants to take later, by its number.',
  },
  {
    id: 'transfer',
    title: 'Transfer dead-letter',
    subQueue: 'transferDeadLetter',
    countOf: ({ transferDeadLetter }) => transferDeadLetter,
    empty: 'Nothing here. Messages come here that cannot be forwarded to another entity.',
  },
];

/** The queue whose messages a tab shows. */
export function pathOf(entity: string, { subQueue }: MessageTab): ClientPath {
  return subQueueOf(entity, subQueue);
}
