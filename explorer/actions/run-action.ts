import { purge } from '../../client/message-calls.ts';
import { matches } from '../messages/filter.ts';
import { pathOf } from '../messages/tabs.ts';
import type { Connection } from '../namespace/connection.ts';
import { mainMessagesOf, readEntity } from '../namespace/entity.ts';
import { getEntity } from '../namespace/manage.ts';
import { fileNameOf, saveFile } from '../ui/save-file.ts';
import type { ActionSubject, DialogAction } from './actions.ts';
import { type Chosen, cancel, operateOn, resubmitOf } from './by-number.ts';
import type { JobProgress } from './jobs.ts';
import { readReason } from './reason-fields.tsx';
import { withResending } from './resend.ts';
import { exportQueue, resubmitAll, resubmitMatching, type WholeQueue } from './whole-queue.ts';

/** An action with what it is about, and what was written into its dialog. */
export type ActionInput = ActionSubject &
  Pick<Connection, 'caller' | 'jobs'> & { readonly fields: FormData };

/** Does an action. How far it is, the jobs of the connection say. */
export async function runAction(action: DialogAction, input: ActionInput): Promise<void> {
  await RUNS[action](input);
}

const RUNS: Readonly<Record<DialogAction, (input: ActionInput) => unknown>> = {
  resubmit: (input) =>
    overChosen(input, 'Resubmitted', (progress, chosen) =>
      resubmitOf(chosen, progress, toOf(input)),
    ),
  resubmitAll: (input) =>
    overQueue(input, 'Resubmitted', (progress, whole) => resubmitAll(whole, progress)),
  resubmitMatching: (input) =>
    input.jobs.run({ title: 'Resubmitted', what: fromQueue(input) }, async (progress) => {
      const whole = await wholeOf(input);
      await resubmitMatching(whole, (message) => matches(message, input.filter), progress);
    }),
  cancel: (input) =>
    overChosen(input, 'Cancelled', (progress, chosen) =>
      withResending(input, progress, 'Schedule them again', (notes) =>
        cancel({ ...chosen, ...notes }, progress),
      ),
    ),
  reactivate: (input) =>
    overChosen(input, 'Reactivated', (progress, chosen) =>
      operateOn(chosen, 'reactivate', progress),
    ),
  breakLock: (input) =>
    overChosen(input, 'Broke locks:', (progress, chosen) =>
      operateOn(chosen, 'breakLock', progress),
    ),
  deadLetter: (input) =>
    overChosen(input, 'Dead-lettered', (progress, chosen) =>
      operateOn(chosen, 'deadLetter', progress, readReason(input.fields)),
    ),
  delete: (input) =>
    overChosen(input, 'Deleted', (progress, chosen) =>
      withResending(input, progress, 'Send them again', (notes) =>
        operateOn({ ...chosen, ...notes }, 'delete', progress),
      ),
    ),
  download: ({ entity, tab, chosen }) =>
    saveFile(
      fileNameOf(entity.name, tab.id, new Date()),
      new Blob(chosen.map(({ text }) => `${text}\n`)),
    ),
  export: async (input) => {
    await exportAll(input);
  },
  purge: async (input) => {
    if (input.fields.get('export') === null) await purgeNow(input);
    else await exportAll(input, (progress) => offerPurge(input, progress));
  },
};

/** Saves all messages of the queue; `saved` = what follows when the file has all of them. */
async function exportAll(
  input: ActionInput,
  saved?: (progress: JobProgress) => void,
): Promise<void> {
  await overQueue(input, 'Exported', async (progress, { caller, path }) => {
    let skipped = 0;
    const file = await exportQueue(caller, path, progress, () => skipped++);
    if (file === undefined) return;
    const { entity, tab } = input;
    const what = tab.subQueue === 'main' ? 'messages' : tab.id;
    saveFile(fileNameOf(entity.name, what, new Date()), file);
    if (skipped === 0) saved?.(progress);
    else if (saved !== undefined) progress.problem('the purge', NOT_EXPORTED);
  });
}

const NOT_EXPORTED = 'It was not begun, because the file lacks messages.';

/** Somebody looks whether the browser has saved the file, before the messages are removed. */
function offerPurge(input: ActionInput, progress: JobProgress): void {
  const title = `The file is saved: purge ${pathOf(input.entity.name, input.tab).text}`;
  progress.offer({ title, run: () => void purgeNow(input) });
}

async function purgeNow({ jobs, caller, entity, tab }: ActionInput): Promise<void> {
  const path = pathOf(entity.name, tab);
  await jobs.run({ title: 'Purging:', what: `of ${path.text}` }, async (progress) => {
    await purge(caller, path);
    progress.sentence(`Purged ${path.text}: all its messages are removed.`);
  });
}

/** Does something with the messages that are chosen. */
function overChosen(
  input: ActionInput,
  title: string,
  work: (progress: JobProgress, chosen: Chosen) => Promise<void>,
): Promise<unknown> {
  const { jobs, caller, entity, tab, chosen } = input;
  const inSessions = entity.requiresSession && tab.subQueue === 'main';
  const those = { caller, path: pathOf(entity.name, tab), messages: chosen, inSessions };
  const job = { title, what: fromQueue(input), total: chosen.length };
  return jobs.run(job, async (progress) => {
    await requireSameEntity(input);
    await work(progress, those);
  });
}

/** Throws Error if the entity was created anew since its messages were listed: their numbers begin again. */
async function requireSameEntity({ caller, entity }: ActionInput): Promise<void> {
  if (entity.right !== 'manage') return;
  const { json } = await getEntity(caller, entity.name);
  if (json['createdAt'] === entity.json['createdAt']) return;
  throw new Error(
    `Nothing was changed: ${entity.name} was deleted and created anew, so these are messages of before.`,
  );
}

/** Does something with all messages of the queue. */
function overQueue(
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

/** The queue with the number of its messages now, which is not that of when the page was opened. */
async function wholeOf(input: ActionInput): Promise<WholeQueue> {
  const { caller, entity, tab } = input;
  const { json, right } = await getEntity(caller, entity.name);
  const now = readEntity(json);
  const whole = { caller, path: pathOf(entity.name, tab), to: toOf(input) };
  // Without Manage nobody knows how many there are.
  if (right !== 'manage') return { ...whole, total: Number.POSITIVE_INFINITY };
  const total = tab.subQueue === 'main' ? mainMessagesOf(now) : tab.countOf(now);
  return { ...whole, total, isEstimate: now.isEstimate };
}

function fromQueue({ entity, tab }: ActionInput): string {
  return `from ${pathOf(entity.name, tab).text}`;
}

function toOf({ fields }: Pick<ActionInput, 'fields'>): string | undefined {
  return String(fields.get('to') ?? '').trim() || undefined;
}
