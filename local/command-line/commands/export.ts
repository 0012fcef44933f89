import { RefusalError } from '../../../client/client-errors.ts';
import { type ClientPath, readPath } from '../../../client/entity-path.ts';
import { countsOf } from '../../../client/management.ts';
import { readAll } from '../../../client/read-all.ts';
import { UsageError } from '../../startup-error.ts';
import { connect, describeQueue } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { type ExportTarget, fileTarget, outputTarget } from '../export-target.ts';
import { EXIT, type ExitCode } from '../io.ts';
import { messagesText } from '../table.ts';

/** The options of `dynabus export`, as written. */
export interface ExportOptions extends CommonOptions {
  readonly entities?: boolean;
  readonly keys?: boolean;
  readonly out?: string;
  readonly session?: string;
}

/** Writes messages, one a line, or the entities of the namespace. */
export const runExport: RunCommand<ExportOptions> = async (io, [pathText], options) => {
  if ((pathText !== undefined) === (options.entities ?? false)) {
    throw new UsageError('Give either the path of an entity or --entities.');
  }
  if (options.keys === true && pathText !== undefined) {
    throw new UsageError('--keys is for entities: give --entities in place of the path.');
  }
  if (options.session !== undefined && pathText === undefined) {
    throw new UsageError('--session is for messages: give the path of an entity, not --entities.');
  }
  const path = pathText === undefined ? undefined : readPath(pathText);
  const context = connect(io, options);
  const target = options.out === undefined ? outputTarget(io.stdout) : fileTarget(options.out);
  try {
    return await exportTo(context, path, target, options);
  } finally {
    const partial = target.giveUp();
    if (partial !== undefined) await context.warn(partial);
  }
};

async function exportTo(
  context: Context,
  path: ClientPath | undefined,
  target: ExportTarget,
  options: ExportOptions,
): Promise<ExitCode> {
  if (path !== undefined) return await exportMessages(context, path, target, options);
  // Loaded here: an export of messages needs none of the code of entities.
  const { exportEntities } = await import('../export-entities.ts');
  const config = await exportEntities(context, options.keys ?? false);
  await target.write(`${JSON.stringify(config, undefined, context.isJson ? 0 : 2)}\n`);
  target.finish();
  return EXIT.done;
}

async function exportMessages(
  context: Context,
  path: ClientPath,
  target: ExportTarget,
  { out, session }: ExportOptions,
): Promise<ExitCode> {
  const { client, signal } = context;
  const there = await countAt(context, path);
  const progress = context.progress('Exported', there);
  const faults: string[] = [];
  let sessions = false;
  let count = 0;
  const pages = readAll(client, path, {
    sessionId: session,
    skipped: (sentence) => faults.push(sentence),
    withSessions: () => {
      sessions = true;
    },
  });
  try {
    for await (const page of pages) {
      await target.write(page.map(({ text }) => `${text}\n`).join(''));
      count += page.length;
      progress.show(count);
      if (signal.aborted) break;
    }
    if (!signal.aborted) target.finish();
  } finally {
    progress.end();
  }
  if (sessions && !signal.aborted && there !== undefined && count < there) {
    faults.push(
      `Left out: ${messagesText(there - count)} of sessions that have no active message, only deferred or scheduled ones. Name each such session with --session.`,
    );
  }
  for (const sentence of faults) await context.warn(sentence);
  if (out !== undefined && context.isJson) await context.print('', { exported: count });
  else await context.note(`Exported ${messagesText(count)} of ${path.text}.`);
  if (signal.aborted) return EXIT.interrupted;
  return faults.length > 0 ? EXIT.failed : EXIT.done;
}

/** How many messages there are; undefined without the right to know it, or if it is not known exactly. */
async function countAt(context: Context, path: ClientPath): Promise<number | undefined> {
  try {
    const entity = await describeQueue(context, path);
    const counts = entity === undefined ? undefined : countsOf(entity);
    return counts === undefined || counts.isEstimate ? undefined : counts[path.subQueue];
  } catch (error) {
    if (error instanceof RefusalError && error.status === 401) return undefined;
    throw error;
  }
}
