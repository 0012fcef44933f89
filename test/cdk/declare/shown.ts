import type { Management } from '../../../shared/broker/management/management.ts';
import { queue, type Resources, rule, subscription, topic } from './stack.ts';

/** The names of all entities, rules and authorization rules, these with their rights, in order. */
export async function shown(management: Management): Promise<readonly string[]> {
  const all: string[] = [];
  for (const kind of ['queue', 'topic'] as const) {
    for (const { name, description } of (await management.list({ kind, skip: 0, top: 99 })).items) {
      all.push(name);
      if (description.kind === 'subscription') continue;
      for (const { keyName, rights } of description.authorizationRules) {
        all.push(`${name} ${keyName} ${rights.join(' ')}`);
      }
      if (kind === 'queue') continue;
      const page = { kind: 'subscription', topic: name, skip: 0, top: 99 } as const;
      for (const { name: path } of (await management.list(page)).items) {
        const { items } = await management.rules.list(path, { skip: 0, top: 99 });
        all.push(path, ...items.map(({ stored }) => `${path}/Rules/${stored.rule.name}`));
      }
    }
  }
  return all.sort();
}

/** What a stack declares at first. */
export const BEFORE: Resources = {
  Events: topic('events'),
  Billing: subscription('events/Subscriptions/billing', {
    rules: { large: 'Quantity > 100', b: 'b = 1' },
  }),
  Orders: queue('orders', { lockDuration: 'PT30S' }),
  Sender: rule('orders', 'sender', 'Send'),
};
/** Everything updated, and the queue with its authorization rule replaced. */
export const AFTER: Resources = {
  Events: topic('events', { status: 'SendDisabled' }),
  Billing: subscription('events/Subscriptions/billing', {
    rules: { large: 'Quantity > 200', c: 'c = 1' },
  }),
  Orders: queue('orders-2', { lockDuration: 'PT40S' }),
  Sender: rule('orders-2', 'sender', 'Send', 'Listen'),
};
/** What `shown` returns then. */
export const SHOWN_BEFORE = [
  'events',
  'events/Subscriptions/billing',
  'events/Subscriptions/billing/Rules/b',
  'events/Subscriptions/billing/Rules/large',
  'orders',
  'orders sender Send',
];
export const SHOWN_AFTER = [
  'events',
  'events/Subscriptions/billing',
  'events/Subscriptions/billing/Rules/c',
  'events/Subscriptions/billing/Rules/large',
  'orders-2',
  'orders-2 sender Send Listen',
];
