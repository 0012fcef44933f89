import { pathOf } from '../messages/tabs.ts';
import type { Connection } from '../namespace/connection.ts';
import { mainMessagesOf, readEntity } from '../namespace/entity.ts';
import { getEntity, type ReachedEntity } from '../namespace/manage.ts';
import type { ActionSubject } from './actions.ts';
import type { JobProgress } from './jobs.ts';
import type { WholeQueue } from './whole-queue.ts';

/** An action with what it is about, and what was written into its dialog. */
export type ActionInput = ActionSubject &
  Pick<Connection, 'caller' | 'jobs'> & { readonly fields: FormData };

/** Does something with all messages of the queue. */
export function overQueue(
  input: ActionInput,
  title: string,
  work: (progress: JobProgress, whole: WholeQueue) => Promise<void>,
): Promise<unknown> {
  return input.jobs.run({ title, what: fromQueue(input) }, async (progress) => {
    const whole = await wholeOf(input);
    if (Number.isFinite(whole.total)) progress.total(whole.total);
    await work(progress, whole);
  });
}

/**
 * The queue with the number of its messages now, which is not that of when the page was opened. Throws Error if the
 * entity was created anew since then, besides what `getEntity` throws.
 */
export async function wholeOf(input: ActionInput): Promise<WholeQueue> {
  const { caller, entity, tab } = input;
  const reached = await getEntity(caller, entity.name);
  requireSame(input, reached);
  const now = readEntity(reached.json);
  const whole = { caller, path: pathOf(entity.name, tab), to: toOf(input) };
  // Without Manage nobody knows how many there are.
  if (reached.right !== 'manage') return { ...whole, total: Number.POSITIVE_INFINITY };
  const total = tab.subQueue === 'main' ? mainMessagesOf(now) : tab.countOf(now);
  return { ...whole, total, isEstimate: now.isEstimate };
}

/** Throws Error if the entity was created anew since its messages were listed: their numbers begin again. */
export async function requireSameEntity(
  input: Pick<ActionInput, 'caller' | 'entity'>,
): Promise<void> {
  if (input.entity.right !== 'manage') return;
  requireSame(input, await getEntity(input.caller, input.entity.name));
}

/** Without Manage nobody is told when an entity was created. */
function requireSame({ entity }: Pick<ActionInput, 'entity'>, { json, right }: ReachedEntity) {
  if (entity.right !== 'manage' || right !== 'manage') return;
  if (json['createdAt'] === entity.json['createdAt']) return;
  throw new Error(
    `Nothing was changed: ${entity.name} was deleted and created anew, and the page showed what was before.`,
  );
}

/** Where messages come from, as the result of work says it. */
export function fromQueue({ entity, tab }: Pick<ActionSubject, 'entity' | 'tab'>): string {
  return `from ${pathOf(entity.name, tab).text}`;
}

/** Where messages are to go, if not to their own queue. */
export function toOf({ fields }: Pick<ActionInput, 'fields'>): string | undefined {
  return String(fields.get('to') ?? '').trim() || undefined;
}
