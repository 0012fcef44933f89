import { isUtf8 } from 'node:buffer';
import { fieldOf } from '../../../client/client-errors.ts';
import { readPath } from '../../../client/entity-path.ts';
import { sendBatch } from '../../../client/message-calls.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type ExitCode } from '../io.ts';
import { readWhole, readWholeFile } from '../lines.ts';
import { sendLines } from '../send-lines.ts';
import { messagesText, numberText } from '../table.ts';
import { readCount, readDuration, readInstant, readProperties } from '../values.ts';

/** The options of `dynabus send`, as written. */
export interface SendOptions extends CommonOptions {
  readonly file?: string;
  readonly contentType?: string;
  readonly subject?: string;
  readonly messageId?: string;
  readonly sessionId?: string;
  readonly correlationId?: string;
  readonly partitionKey?: string;
  readonly toAddress?: string;
  readonly replyTo?: string;
  readonly property?: readonly string[];
  readonly timeToLive?: string;
  readonly schedule?: string;
  readonly count?: string;
  readonly batch?: boolean;
}

const BATCH_MESSAGES = 100;
/** The characters of one request: the service takes 1 MB in a batch. */
const BATCH_CHARACTERS_MAX = 500_000;

/** Sends a message, copies of it, or the messages of a file. */
export const runSend: RunCommand<SendOptions> = async (io, [pathText = '', bodyText], options) => {
  const path = readPath(pathText);
  if (path.subQueue !== 'main') {
    throw new UsageError(`Nothing can be sent to a dead-letter queue; send to ${path.entity}.`);
  }
  const context = connect(io, options);
  if (options.batch) {
    requireNoMessageOptions(options, bodyText);
    return await sendLines(context, path, options.file);
  }
  const count = readCount(options.count ?? '1', '--count');
  const system = systemOf(options);
  const properties = readProperties(options.property ?? []);
  const body = bodyJson(await readBody(context, bodyText, options.file));
  const message = (number: number) => {
    const { MessageId: id } = system;
    const own =
      id === undefined || count === 1 ? system : { ...system, MessageId: `${id}-${number}` };
    const custom = properties.map(([name, value]) => `${name}:${value}`).join(',');
    return `{${body},"BrokerProperties":${JSON.stringify(own)},"UserProperties":{${custom}}}`;
  };
  return await sendCopies(context, path, message, count);
};

async function sendCopies(
  context: Context,
  path: ReturnType<typeof readPath>,
  message: (number: number) => string,
  count: number,
): Promise<ExitCode> {
  const fitting = Math.max(1, Math.floor(BATCH_CHARACTERS_MAX / message(count).length));
  const size = Math.min(BATCH_MESSAGES, fitting);
  const progress = context.progress('Sent', count);
  let sent = 0;
  try {
    while (sent < count && !context.signal.aborted) {
      const length = Math.min(size, count - sent);
      const batch = Array.from({ length }, (_, i) => message(sent + i + 1));
      await sendBatch(context.client, path, batch);
      sent += length;
      progress.show(sent);
    }
  } catch (error) {
    progress.end();
    if (sent > 0)
      await context.warn(`Sent ${numberText(sent)} of ${messagesText(count)} before the error.`);
    throw error;
  }
  progress.end();
  await context.print(`Sent ${messagesText(sent)} to ${path.text}.`, { sent });
  return sent < count ? EXIT.interrupted : EXIT.done;
}

function requireNoMessageOptions(options: SendOptions, bodyText: string | undefined): void {
  const names = [
    'contentType',
    'subject',
    'messageId',
    'sessionId',
    'correlationId',
    'count',
  ] as const;
  const more = [
    'partitionKey',
    'toAddress',
    'replyTo',
    'property',
    'timeToLive',
    'schedule',
  ] as const;
  const isOther = [...names, ...more].some((name) => fieldOf(options, name) !== undefined);
  if (isOther || (bodyText !== undefined && bodyText !== '-')) {
    throw new UsageError(
      'With --batch, the lines hold the messages: give no body and no properties.',
    );
  }
}

function systemOf(options: SendOptions) {
  const { timeToLive, schedule } = options;
  const system = {
    ContentType: options.contentType,
    Label: options.subject,
    MessageId: options.messageId,
    SessionId: options.sessionId,
    CorrelationId: options.correlationId,
    PartitionKey: options.partitionKey,
    To: options.toAddress,
    ReplyTo: options.replyTo,
    TimeToLive:
      timeToLive === undefined ? undefined : readDuration(timeToLive, '--time-to-live') / 1000,
    ScheduledEnqueueTimeUtc:
      schedule === undefined
        ? undefined
        : new Date(readInstant(schedule, '--schedule', Date.now())).toISOString(),
  };
  if (system.TimeToLive === 0) throw new UsageError('--time-to-live must be longer than 0.');
  return system;
}

async function readBody(
  context: Context,
  text: string | undefined,
  file: string | undefined,
): Promise<Uint8Array> {
  if (text !== undefined && file !== undefined) {
    throw new UsageError('Give the body either as an argument or with --file.');
  }
  if (file !== undefined) return await readWholeFile(file);
  if (text === '-') return await readWhole(context.input(), 'The input');
  if (text !== undefined) return Buffer.from(text);
  throw new UsageError(
    'No body is given: write it after the path, or name a --file, or write - to read the input.',
  );
}

function bodyJson(body: Uint8Array): string {
  const bytes = Buffer.from(body);
  return isUtf8(bytes)
    ? `"Body":${JSON.stringify(bytes.toString('utf8'))}`
    : `"Body":"${bytes.toString('base64')}","BodyEncoding":"base64"`;
}
