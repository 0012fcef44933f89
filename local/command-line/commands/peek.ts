import { readPath } from '../../../client/entity-path.ts';
import type { ClientMessage } from '../../../client/message.ts';
import { PEEK_MAX } from '../../../client/message-calls.ts';
import { readAll } from '../../../client/read-all.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT } from '../io.ts';
import { MessageTable } from '../show-message.ts';
import { readCount, readSequenceNumber } from '../values.ts';

/** The options of `dynabus peek`, as written. */
export interface PeekOptions extends CommonOptions {
  readonly from?: string;
  readonly count?: string;
  readonly all?: boolean;
  readonly session?: string;
}

/** Shows messages: a table for people, or each as a line of JSON. */
export const runPeek: RunCommand<PeekOptions> = async (io, [pathText = ''], options) => {
  const path = readPath(pathText);
  if (options.all && options.count !== undefined) {
    throw new UsageError('Give either --all or --count.');
  }
  const count = options.all
    ? Number.POSITIVE_INFINITY
    : readCount(options.count ?? '10', '--count');
  const from = options.from === undefined ? undefined : readSequenceNumber(options.from, '--from');
  const context = connect(io, options);
  const notes: string[] = [];
  let hasSessions = options.session !== undefined;
  const pages = readAll(context.client, path, {
    from,
    sessionId: options.session,
    pageMessages: Math.min(PEEK_MAX, count),
    skipped: (sentence) => notes.push(sentence),
    withSessions: () => {
      hasSessions = true;
    },
  });
  const shown = await show(context, pages, count, () => hasSessions);
  for (const sentence of notes) await context.warn(sentence);
  if (shown === 0) await context.note(`No message in ${path.text}.`);
  if (context.signal.aborted) return EXIT.interrupted;
  return notes.length > 0 ? EXIT.failed : EXIT.done;
};

/** Rows that are aligned with each other; the next ones continue the table. */
const ALIGNED_ROWS = 1000;

/** Prints up to `count` messages. Returns how many. `hasSessions` is asked after the first page was read. */
async function show(
  context: Context,
  pages: AsyncIterable<readonly ClientMessage[]>,
  count: number,
  hasSessions: () => boolean,
): Promise<number> {
  let shown = 0;
  let table: MessageTable | undefined;
  let waiting: ClientMessage[] = [];
  const print = async () => {
    const messages = waiting;
    waiting = [];
    if (messages.length === 0) return;
    table ??= new MessageTable(hasSessions());
    await context.write(context.isJson ? jsonLines(messages) : table.rows(messages));
  };
  try {
    for await (const page of pages) {
      const messages = page.slice(0, count - shown);
      waiting.push(...messages);
      shown += messages.length;
      if (context.isJson || waiting.length >= ALIGNED_ROWS) await print();
      if (shown >= count || context.signal.aborted) break;
    }
  } finally {
    await print();
  }
  return shown;
}

function jsonLines(messages: readonly ClientMessage[]): string {
  return messages.map(({ text }) => text).join('\n');
}
