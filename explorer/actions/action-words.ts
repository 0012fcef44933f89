import { describeFilter } from '../messages/filter.ts';
import { pathOf } from '../messages/tabs.ts';
import { visible } from '../messages/visible-text.ts';
import { mainMessagesOf } from '../namespace/entity.ts';
import { countText } from '../ui/format.ts';
import type { ActionSubject, DialogAction } from './actions.ts';

/** What a dialog says about an action. */
interface Words {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly says: (subject: ActionSubject, count: string) => string;
}

const again =
  'They are sent as new messages: with new sequence numbers, a delivery count of 0, and no reason.';

/** The words of each action. */
export const ACTION_WORDS: Readonly<Record<DialogAction, Words>> = {
  resubmit: {
    title: 'Resubmit',
    action: 'Resubmit',
    says: ({ entity }, count) => `Resubmits ${count} of ${entity.name}. ${again}`,
  },
  resubmitMatching: {
    title: 'Resubmit filtered',
    action: 'Resubmit',
    says: ({ entity, tab, filter }) =>
      `Looks through all of ${pathOf(entity.name, tab).text}, and resubmits the messages with ${visible(describeFilter(filter))}. ${again}`,
  },
  resubmitAll: {
    title: 'Resubmit all',
    action: 'Resubmit all',
    says: ({ entity, tab }) =>
      `Resubmits all ${countText(tab.countOf(entity), entity.isEstimate)} dead letters of ${entity.name}. ${again}`,
  },
  cancel: {
    title: 'Cancel scheduled messages',
    action: 'Cancel them',
    isDangerous: true,
    says: ({ entity }, count) => `Removes ${count} from the schedule of ${entity.name}.`,
  },
  reactivate: {
    title: 'Reactivate',
    action: 'Reactivate',
    says: ({ entity }, count) => `Makes ${count} of ${entity.name} active again.`,
  },
  deadLetter: {
    title: 'Dead-letter',
    action: 'Dead-letter',
    says: ({ entity }, count) => `Moves ${count} of ${entity.name} to its dead-letter queue.`,
  },
  breakLock: {
    title: 'Break lock',
    action: 'Break lock',
    isDangerous: true,
    says: ({ entity }, count) =>
      `Ends the locks of ${count} of ${entity.name} as if they had expired: who holds one can no longer settle it, and the delivery counts.`,
  },
  delete: {
    title: 'Delete',
    action: 'Delete',
    isDangerous: true,
    says: ({ entity, tab }, count) => `Deletes ${count} from ${pathOf(entity.name, tab).text}.`,
  },
  download: {
    title: 'Download',
    action: 'Download',
    says: (_, count) => `Saves ${count} with all properties, one a line.`,
  },
  export: {
    title: 'Export all',
    action: 'Export',
    says: ({ entity, tab }) =>
      `Reads the whole queue ${pathOf(entity.name, tab).text} and saves its messages, one a line. It changes nothing.`,
  },
  purge: {
    title: 'Purge',
    action: 'Purge',
    isDangerous: true,
    says: ({ entity, tab }) =>
      tab.subQueue === 'main'
        ? `Removes all ${countText(mainMessagesOf(entity), entity.isEstimate)} messages of ${entity.name}, also locked, deferred and scheduled ones. Its dead letters stay.`
        : `Removes all ${countText(tab.countOf(entity), entity.isEstimate)} messages of ${pathOf(entity.name, tab).text}. The main queue stays.`,
  },
};
