import { RefusalError } from '../../../client/client-errors.ts';
import { type ClientPath, readPath, subQueueOf } from '../../../client/entity-path.ts';
import { countsOf } from '../../../client/management.ts';
import { NUMBERS_MAX, resubmit } from '../../../client/message-calls.ts';
import { UsageError } from '../../startup-error.ts';
import { connect, describeQueue } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type ExitCode } from '../io.ts';
import { messagesText } from '../table.ts';
import { readCount, readSequenceNumber } from '../values.ts';

/** The options of `dynabus resubmit`, as written. */
export interface ResubmitOptions extends CommonOptions {
  readonly all?: boolean;
  readonly sequenceNumbers?: string;
  readonly count?: string;
}

/** Messages of one call: few enough that the progress is seen, and that Ctrl-C ends soon. */
const CALL_MESSAGES = 500;

/** Sends dead letters to the main queue again. */
export const runResubmit: RunCommand<ResubmitOptions> = async (io, [pathText = ''], options) => {
  const given = readPath(pathText);
  const path = given.subQueue === 'main' ? subQueueOf(given.entity, 'deadLetter') : given;
  const { all = false, sequenceNumbers } = options;
  if (
    [all, sequenceNumbers !== undefined, options.count !== undefined].filter(Boolean).length !== 1
  ) {
    throw new UsageError('Give one of --all, --sequence-numbers and --count.');
  }
  const numbers = sequenceNumbers === undefined ? undefined : readNumbers(sequenceNumbers);
  const count = options.count === undefined ? undefined : readCount(options.count, '--count');
  const context = connect(io, options);
  return numbers === undefined
    ? await resubmitMany(context, path, count)
    : await resubmitNumbers(context, path, numbers);
};

function readNumbers(text: string): readonly bigint[] {
  const numbers = text
    .split(',')
    .map((one) => readSequenceNumber(one.trim(), '--sequence-numbers'));
  return [...new Set(numbers)];
}

async function resubmitNumbers(
  context: Context,
  path: ClientPath,
  numbers: readonly bigint[],
): Promise<ExitCode> {
  let done = 0;
  try {
    for (let i = 0; i < numbers.length && !context.signal.aborted; i += NUMBERS_MAX) {
      const sequenceNumbers = numbers.slice(i, i + NUMBERS_MAX);
      done += await resubmit(context.client, path, { sequenceNumbers });
    }
  } catch (error) {
    // A topic is refused for another reason than that it is one.
    if (error instanceof RefusalError) await describeQueue(context, path);
    throw error;
  }
  return await report(context, path, done, numbers.length);
}

/**
 * Resubmits until none is left, and not more than there were at the start: a message that is dead-lettered again in the
 * meantime would come round without end.
 */
async function resubmitMany(
  context: Context,
  path: ClientPath,
  countMax: number | undefined,
): Promise<ExitCode> {
  const { client, signal } = context;
  const entity = await describeQueue(context, path);
  const counts = entity === undefined ? undefined : countsOf(entity);
  const there = counts?.[path.subQueue] ?? 0;
  const total = Math.min(there, countMax ?? there);
  const progress = context.progress('Resubmitted', total);
  let done = 0;
  try {
    while (done < total && !signal.aborted) {
      const now = await resubmit(client, path, {
        maxMessages: Math.min(CALL_MESSAGES, total - done),
      });
      if (now === 0) break;
      done += now;
      progress.show(done);
    }
  } catch (error) {
    progress.end();
    if (done > 0) await context.warn(`Resubmitted ${messagesText(done)} before the error.`);
    throw error;
  }
  progress.end();
  if (counts?.isEstimate && countMax === undefined && done === total) {
    await context.warn('Their number was an estimate. If some are left, run the command again.');
  }
  return await report(context, path, done, total);
}

async function report(
  context: Context,
  path: ClientPath,
  done: number,
  total: number,
): Promise<ExitCode> {
  const left = total - done;
  await context.print(`Resubmitted ${messagesText(done)} of ${path.text}.`, {
    resubmitted: done,
    left,
  });
  if (context.signal.aborted && left > 0) return EXIT.interrupted;
  if (left > 0) {
    await context.warn(
      `${messagesText(left)} not resubmitted: not there, locked, deferred, or without the session that the queue needs.`,
    );
  }
  return left > 0 ? EXIT.failed : EXIT.done;
}
