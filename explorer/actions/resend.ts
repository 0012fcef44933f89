import type { Caller } from '../../client/call.ts';
import type { ClientMessage } from '../../client/message.ts';
import { peek } from '../../client/message-calls.ts';
import { pathOf } from '../messages/tabs.ts';
import { SendOnce } from '../send/send-once.ts';
import { counted } from '../ui/format.ts';
import type { ActionSubject } from './actions.ts';
import type { Chosen } from './by-number.ts';
import type { JobProgress, Jobs } from './jobs.ts';

/** Where messages are removed, and who sends them again. */
type Removing = Pick<ActionSubject, 'entity' | 'tab'> & {
  readonly jobs: Jobs;
  readonly caller: Caller;
};

/** A message that was removed, or may have been. */
interface Removed {
  readonly message: ClientMessage;
  readonly isUnclear: boolean;
}

/**
 * Whether removed messages can be sent again: to a queue, but not to a subscription or a dead-letter queue, and only
 * where it is known that the service does not remember their ids, since it would drop them as duplicates.
 */
export function canResend({ entity, tab }: Pick<ActionSubject, 'entity' | 'tab'>): boolean {
  const { kind, canSend, json } = entity;
  const isQueue = kind === 'queue' && tab.subQueue === 'main';
  return isQueue && canSend && json['requiresDuplicateDetection'] === false;
}

/**
 * Removes messages, and offers to send them again where that is possible, also after an error or a stop.
 * @param remove removes, and tells which messages are gone, or may be
 */
export async function withResending(
  removing: Removing,
  progress: JobProgress,
  title: string,
  remove: (notes: Pick<Chosen, 'changed' | 'unclear'>) => Promise<void>,
): Promise<void> {
  const removed: Removed[] = [];
  const note = (isUnclear: boolean) => (messages: readonly ClientMessage[]) => {
    removed.push(...messages.map((message) => ({ message, isUnclear })));
  };
  try {
    await remove({ changed: note(false), unclear: note(true) });
  } finally {
    if (removed.length > 0 && canResend(removing)) offer(removing, progress, title, removed);
  }
}

/** What an error or a stop leaves unsent can be sent again, and none is stored twice. They get new numbers. */
function offer(
  removing: Removing,
  progress: JobProgress,
  title: string,
  removed: readonly Removed[],
): void {
  const { jobs, caller, entity, tab } = removing;
  const path = pathOf(entity.name, tab);
  const left = [...removed];
  /** Those of which nobody knows whether it was this page that has removed them. */
  const gone: Removed[] = [];
  const once = new SendOnce();
  const offered = { title, run: () => void send() };
  const isThere = async ({ sequenceNumber, system }: ClientMessage): Promise<boolean> => {
    const sessionId = entity.requiresSession ? String(system['SessionId']) : undefined;
    const request = { from: sequenceNumber, maxMessages: 1, sessionId };
    const [found] = await peek(caller, path, request);
    return found?.sequenceNumber === sequenceNumber;
  };
  const sendOne = async ({ message, isUnclear }: Removed, again: JobProgress): Promise<void> => {
    if (!isUnclear) {
      await once.send(caller, path, message.text);
      again.done(1);
      return;
    }
    const isStill = await isThere(message);
    const why = isStill ? 'It was not removed.' : isScheduled(message) ? UNSCHEDULED : GONE;
    again.problem(`message ${message.sequenceNumber}`, why);
    if (!isStill) gone.push({ message, isUnclear: false });
  };
  const job = { title: 'Sent again', what: `to ${path.text}`, total: left.length };
  const send = () =>
    jobs.run(job, async (again) => {
      again.offer(offered);
      for (let next = left[0]; next !== undefined && !again.isStopped(); next = left[0]) {
        await sendOne(next, again);
        left.shift();
      }
      if (left.length > 0) return;
      again.offer(undefined);
      if (gone.length === 0) return;
      const count = counted(gone.length, 'message', 'messages');
      const areScheduled = gone.every((one) => isScheduled(one.message));
      const where = areScheduled ? 'may have become active' : 'a consumer may have taken';
      offer(removing, again, `Send ${count} that ${where}`, gone);
    });
  progress.offer(offered);
}

const GONE = 'It is gone: this page has removed it, or a consumer has taken it.';
/** A message gets a new number when it becomes active, so that nobody finds it by the one that it had. */
const UNSCHEDULED =
  'It is not scheduled any more: this page has cancelled it, or it has become active under another number.';

function isScheduled({ system }: ClientMessage): boolean {
  return system['State'] === 'Scheduled';
}
