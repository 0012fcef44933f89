import { purge } from '../../client/message-calls.ts';
import { pathOf } from '../messages/tabs.ts';
import { counted } from '../ui/format.ts';
import { fileNameOf, saveFile } from '../ui/save-file.ts';
import type { JobProgress } from './jobs.ts';
import { type ActionInput, overQueue, wholeOf } from './over-queue.ts';
import { exportQueue, hasOthers, type WholeQueue } from './whole-queue.ts';

/** Saves all messages of the queue. */
export async function exportAll(input: ActionInput): Promise<void> {
  await overQueue(input, 'Exported', async (progress, whole) => {
    await saveAll(input, progress, whole);
  });
}

/** Saves all messages of the queue, and offers to purge it if the file has all of them. */
export async function exportAndPurge(input: ActionInput): Promise<void> {
  await overQueue(input, 'Exported', async (progress, whole) => {
    const saved = await saveAll(input, progress, whole);
    if (saved === undefined) return;
    if (saved.lacking > 0) progress.problem('the purge', NOT_EXPORTED);
    else offerPurge(input, progress, saved.numbers);
  });
}

const NOT_EXPORTED = 'It was not begun, because the file lacks messages.';

/** Removes all messages of the queue. */
export async function purgeNow(input: ActionInput): Promise<void> {
  const path = pathOf(input.entity.name, input.tab);
  await input.jobs.run({ title: 'Purging:', what: `of ${path.text}` }, async (progress) => {
    await wholeOf(input);
    await purgeAll(input, progress);
  });
}

async function purgeAll(
  { caller, entity, tab }: ActionInput,
  progress: JobProgress,
): Promise<void> {
  const path = pathOf(entity.name, tab);
  await purge(caller, path);
  progress.sentence(`Purged ${path.text}: all its messages are removed.`);
}

/** What was saved. */
interface Saved {
  readonly numbers: ReadonlySet<bigint>;
  /** How many messages the file lacks of those that there were when it was begun. */
  readonly lacking: number;
}

/** Undefined: it was stopped, and nothing was saved. */
async function saveAll(
  { entity, tab }: ActionInput,
  progress: JobProgress,
  { caller, path, total, isEstimate = false }: WholeQueue,
): Promise<Saved | undefined> {
  let skipped = 0;
  const exported = await exportQueue(caller, path, progress, () => skipped++);
  if (exported === undefined) return undefined;
  const { file, numbers } = exported;
  const isMain = tab.subQueue === 'main';
  saveFile(fileNameOf(entity.name, isMain ? 'messages' : tab.id, new Date()), file);
  const isKnown = Number.isFinite(total) && !isEstimate;
  const others = isKnown ? Math.max(0, total - numbers.size - skipped) : 0;
  if (others > 0) {
    const inSessions = isMain && entity.requiresSession ? WITHOUT_ACTIVE : '';
    const why = `They are not in the file: they were taken meanwhile${inSessions}.`;
    progress.problem(counted(others, 'message', 'messages'), why);
  }
  return { numbers, lacking: skipped + others };
}

const WITHOUT_ACTIVE = ', or are in sessions without active messages';

/**
 * Somebody looks whether the browser has saved the file, before the messages are removed. What has come in the meantime
 * is not in it.
 */
function offerPurge(input: ActionInput, progress: JobProgress, saved: ReadonlySet<bigint>): void {
  const { jobs, entity, tab } = input;
  const { text } = pathOf(entity.name, tab);
  const run = () =>
    void jobs.run({ title: 'Looked again at', what: `of ${text}` }, async (again) => {
      // After an error or a stop, it can be tried again.
      again.offer(offered);
      again.total(saved.size);
      const isComplete = await isAllOf(input, saved, again);
      if (again.isStopped()) return;
      if (isComplete) {
        await purgeAll(input, again);
        again.offer(undefined);
      } else {
        again.sentence(`Not purged: ${text} has messages that are not in the file.`);
        again.offer({ title: `Purge ${text} all the same`, run: () => void purgeNow(input) });
      }
    });
  const offered = { title: `The file is saved: purge ${text}`, run };
  progress.offer(offered);
}

/** Whether the queue has no other messages than those that are saved. */
async function isAllOf(
  input: ActionInput,
  saved: ReadonlySet<bigint>,
  progress: JobProgress,
): Promise<boolean> {
  const { caller, entity, tab } = input;
  if (await hasOthers(caller, pathOf(entity.name, tab), saved, progress)) return false;
  // Some may have come into a part that was looked at before, or into a session without active messages.
  const { total, isEstimate } = await wholeOf(input);
  return isEstimate === true || !Number.isFinite(total) || total <= saved.size;
}
