import { readPath } from '../../../client/entity-path.ts';
import { countsOf } from '../../../client/management.ts';
import { purge } from '../../../client/message-calls.ts';
import { UsageError } from '../../startup-error.ts';
import { connect, describeQueue } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, writeTo } from '../io.ts';
import { linesOf } from '../lines.ts';
import { messagesText } from '../table.ts';

/** The options of `dynabus purge`, as written. */
export interface PurgeOptions extends CommonOptions {
  readonly yes?: boolean;
}

/** Removes all messages, after the user has confirmed it. */
export const runPurge: RunCommand<PurgeOptions> = async (io, [pathText = ''], options) => {
  const path = readPath(pathText);
  const context = connect(io, options);
  if (!options.yes && !io.stdin.isTTY) {
    throw new UsageError(`A purge of ${path.text} needs --yes, since nobody can be asked here.`);
  }
  const entity = await describeQueue(context, path);
  const counts = entity === undefined ? undefined : countsOf(entity);
  const messages = counts?.[path.subQueue] ?? 0;
  const about = counts?.isEstimate ? 'about ' : '';
  if (
    !options.yes &&
    !(await isConfirmed(context, path.text, `${about}${messagesText(messages)}`))
  ) {
    await context.warn('Nothing was removed.');
    return EXIT.failed;
  }
  await purge(context.client, path);
  await context.print(`Removed ${about}${messagesText(messages)} from ${path.text}.`, {
    removed: messages,
    isEstimate: counts?.isEstimate ?? false,
  });
  return EXIT.done;
};

async function isConfirmed(context: Context, path: string, messages: string): Promise<boolean> {
  await writeTo(context.io.stderr, `This removes ${messages}. Type ${path} to go on: `);
  for await (const { text } of linesOf(context.input())) return text === path;
  return false;
}
