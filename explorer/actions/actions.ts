import type { ClientMessage } from '../../client/message.ts';
import type { MessageFilter } from '../messages/filter.ts';
import type { MessageTab } from '../messages/tabs.ts';
import type { Right, ShownEntity } from '../namespace/entity.ts';

/** What actions are about: a tab of an entity, and what is chosen there. */
export interface ActionSubject {
  readonly entity: ShownEntity;
  readonly tab: MessageTab;
  readonly filter: MessageFilter;
  readonly chosen: readonly ClientMessage[];
}

/** The name of an action. */
export type ActionId =
  | 'resubmit'
  | 'resubmitMatching'
  | 'resubmitAll'
  | 'edit'
  | 'copy'
  | 'cancel'
  | 'reactivate'
  | 'deadLetter'
  | 'breakLock'
  | 'delete'
  | 'download'
  | 'export'
  | 'purge';

/** An action that a dialog asks about, and that then goes on by itself. */
export type DialogAction = Exclude<ActionId, 'edit' | 'copy'>;

/** An action on messages. */
export interface Action {
  readonly id: ActionId;
  readonly title: string;
  readonly tabs: readonly MessageTab['id'][];
  /** What must be there to do it. */
  readonly needs: 'selection' | 'one' | 'filter' | 'nothing';
  readonly changes: boolean;
  /** The right that it takes. */
  readonly right: Right;
}

const DEAD = ['dead-letter', 'transfer'] as const;
const ALL = ['active', 'dead-letter', 'scheduled', 'deferred', 'transfer'] as const;

/** All actions, in the order of their buttons. */
export const ACTIONS: readonly Action[] = [
  {
    id: 'resubmit',
    title: 'Resubmit',
    tabs: DEAD,
    needs: 'selection',
    changes: true,
    right: 'manage',
  },
  {
    id: 'resubmitMatching',
    title: 'Resubmit filtered',
    tabs: DEAD,
    needs: 'filter',
    changes: true,
    right: 'manage',
  },
  {
    id: 'resubmitAll',
    title: 'Resubmit all',
    tabs: DEAD,
    needs: 'nothing',
    changes: true,
    right: 'manage',
  },
  {
    id: 'edit',
    title: 'Edit and resubmit',
    tabs: DEAD,
    needs: 'one',
    changes: true,
    right: 'manage',
  },
  {
    id: 'cancel',
    title: 'Cancel scheduled…',
    tabs: ['scheduled'],
    needs: 'selection',
    changes: true,
    right: 'send',
  },
  {
    id: 'reactivate',
    title: 'Reactivate',
    tabs: ['deferred'],
    needs: 'selection',
    changes: true,
    right: 'listen',
  },
  {
    id: 'deadLetter',
    title: 'Dead-letter',
    tabs: ['active', 'deferred'],
    needs: 'selection',
    changes: true,
    right: 'listen',
  },
  {
    id: 'breakLock',
    title: 'Break lock',
    tabs: ['active', 'dead-letter', 'transfer', 'deferred'],
    needs: 'selection',
    changes: true,
    right: 'manage',
  },
  {
    id: 'delete',
    title: 'Delete',
    tabs: ['active', 'dead-letter', 'deferred', 'transfer'],
    needs: 'selection',
    changes: true,
    right: 'listen',
  },
  {
    id: 'copy',
    title: 'Send a copy',
    // Not of scheduled ones: a copy is sent at once.
    tabs: ['active', 'deferred'],
    needs: 'one',
    changes: true,
    right: 'manage',
  },
  {
    id: 'download',
    title: 'Download',
    tabs: ALL,
    needs: 'selection',
    changes: false,
    right: 'listen',
  },
  {
    id: 'export',
    title: 'Export all',
    tabs: ['active', ...DEAD],
    needs: 'nothing',
    changes: false,
    right: 'listen',
  },
  {
    id: 'purge',
    title: 'Purge…',
    tabs: ['active', ...DEAD],
    needs: 'nothing',
    changes: true,
    right: 'manage',
  },
];
