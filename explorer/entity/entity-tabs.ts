import { MESSAGE_TABS } from '../messages/tabs.ts';
import type { ShownEntity } from '../namespace/entity.ts';
import { countText } from '../ui/format.ts';

/** A tab of an entity. */
export interface EntityTab {
  /** As the address of the page has it. */
  readonly id: string;
  readonly title: string;
  /** How many messages it has. */
  readonly count?: string;
}

/** The tabs that make sense for an entity, in order. */
export function tabsOf(entity: ShownEntity): readonly EntityTab[] {
  const { kind, requiresSession, right, canSend } = entity;
  const settings = { id: 'settings', title: 'Settings' };
  const send = { id: 'send', title: 'Send' };
  if (right === 'send') return [send];
  if (kind === 'topic') {
    return [{ id: 'subscriptions', title: 'Subscriptions' }, send, settings];
  }
  return [
    // What is scheduled waits in the topic of a subscription.
    ...MESSAGE_TABS.filter(({ id }) => id !== 'scheduled' || kind === 'queue').map(
      ({ id, title, countOf }) => ({
        id,
        title,
        ...(right === 'manage' && { count: countText(countOf(entity), entity.isEstimate) }),
      }),
    ),
    requiresSession ? { id: 'sessions', title: 'Sessions' } : { id: 'receive', title: 'Receive' },
    ...(kind === 'queue' && canSend ? [send] : []),
    ...(kind === 'subscription' && right === 'manage' ? [{ id: 'rules', title: 'Rules' }] : []),
    ...(right === 'manage' ? [{ id: 'consumers', title: 'Consumers' }, settings] : []),
  ];
}
