import { matches } from '../messages/filter.ts';
import { pathOf } from '../messages/tabs.ts';
import { fileNameOf, saveFile } from '../ui/save-file.ts';
import type { DialogAction } from './actions.ts';
import { type Chosen, cancel, operateOn, resubmitOf } from './by-number.ts';
import { exportAll, exportAndPurge, purgeNow } from './export-and-purge.ts';
import type { JobProgress } from './jobs.ts';
import {
  type ActionInput,
  fromQueue,
  overQueue,
  requireSameEntity,
  toOf,
  wholeOf,
} from './over-queue.ts';
import { readReason } from './reason-fields.tsx';
import { withResending } from './resend.ts';
import { resubmitAll, resubmitMatching } from './whole-queue.ts';

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
  export: exportAll,
  purge: (input) => (input.fields.get('export') === null ? purgeNow(input) : exportAndPurge(input)),
};

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
