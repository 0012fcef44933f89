import { readPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import { PEEK_MAX } from '../../client/message-calls.ts';
import { readAll } from '../../client/read-all.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT } from '../io.ts';
import { messageTable } from '../show-message.ts';
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
  const pages = readAll(context.client, path, {
    from,
    sessionId: options.session,
    pageMessages: Math.min(PEEK_MAX, count),
    skipped: (sentence) => notes.push(sentence),
  });
  let shown = 0;
  for await (const page of pages) {
    const messages = page.slice(0, count - shown);
    await context.write(context.isJson ? jsonLines(messages) : messageTable(messages));
    shown += messages.length;
    if (shown >= count || context.signal.aborted) break;
  }
  for (const sentence of notes) await context.warn(sentence);
  if (shown === 0) await context.note(`No message in ${path.text}.`);
  if (context.signal.aborted) return EXIT.interrupted;
  return notes.length > 0 ? EXIT.failed : EXIT.done;
};

function jsonLines(messages: readonly ClientMessage[]): string {
  return messages.map(({ text }) => text).join('\n');
}
