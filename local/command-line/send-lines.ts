import { BatchSender } from '../../client/batch-sender.ts';
import type { ClientPath } from '../../client/entity-path.ts';
import { UsageError } from '../startup-error.ts';
import type { Context } from './context.ts';
import { EXIT, type ExitCode } from './io.ts';
import { linesOf, readChunks } from './lines.ts';
import { readMessageLine } from './message-lines.ts';
import { messagesText } from './table.ts';

/**
 * Sends the messages of a file, which is checked as a whole first, or of the input, which is checked as it is read.
 * Prints how many. Throws UsageError for a wrong line, after what was read before it was sent.
 * @param file undefined = the input
 */
export async function sendLines(
  context: Context,
  path: ClientPath,
  file: string | undefined,
): Promise<ExitCode> {
  let total: number | undefined;
  if (file !== undefined) {
    total = 0;
    for await (const line of linesOf(readChunks(file))) {
      readMessageLine(line, Date.now());
      total++;
    }
  }
  const sender = new BatchSender(context.client, path);
  const progress = context.progress('Sent', total);
  try {
    for await (const line of linesOf(file === undefined ? context.input() : readChunks(file))) {
      if (context.signal.aborted) break;
      await sender.add(await readable(line, sender));
      progress.show(sender.sent);
    }
    await sender.flush();
  } catch (error) {
    progress.end();
    await context.warn(`Sent ${messagesText(sender.sent)} to ${path.text} before the error.`);
    throw error;
  }
  progress.end();
  await context.print(`Sent ${messagesText(sender.sent)} to ${path.text}.`, { sent: sender.sent });
  return context.signal.aborted ? EXIT.interrupted : EXIT.done;
}

/** Reads a line; if it is wrong, sends what was read before it. */
async function readable(
  line: Parameters<typeof readMessageLine>[0],
  sender: BatchSender,
): Promise<ReturnType<typeof readMessageLine>> {
  try {
    return readMessageLine(line, Date.now());
  } catch (error) {
    if (error instanceof UsageError) await sender.flush();
    throw error;
  }
}
