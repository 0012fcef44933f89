import { membersOf } from '../../client/json-text.ts';
import type { ClientMessage } from '../../client/message.ts';
import { textOf } from '../messages/body.ts';
import { isUnlimited } from '../messages/shown-properties.ts';

/** The system properties that a sender sets, in the order of the form. */
export const SYSTEM_FIELDS = [
  ['MessageId', 'Message id'],
  ['Label', 'Subject'],
  ['SessionId', 'Session id'],
  ['CorrelationId', 'Correlation id'],
  ['ContentType', 'Content type'],
  ['PartitionKey', 'Partition key'],
  ['ReplyTo', 'Reply to'],
  ['ReplyToSessionId', 'Reply to session id'],
  ['To', 'To'],
  ['TimeToLive', 'Time to live, seconds'],
] as const;

/** A message as it is written in the form. */
export interface Draft {
  readonly body: string;
  /** Whether `body` is base64, since it is no text. */
  readonly isBase64: boolean;
  /** How lines of `body` end when it is sent; a form has them end with \n. */
  readonly newline: '\n' | '\r\n';
  /** By the names of BrokerProperties; empty = not set. */
  readonly system: Readonly<Record<string, string>>;
  /** UserProperties as JSON, as it is sent, so that the spelling of a number keeps its type. */
  readonly properties: string;
}

/** An empty message. */
export const EMPTY_DRAFT: Draft = {
  body: '',
  isBase64: false,
  newline: '\n',
  system: {},
  properties: '{}',
};

/** A draft cannot be sent. Its message is a sentence. */
export class DraftError extends Error {
  override readonly name = 'DraftError';
}

/** What the service adds to a dead letter. */
const DEAD_LETTER_PROPERTIES: ReadonlySet<string> = new Set([
  'DeadLetterReason',
  'DeadLetterErrorDescription',
]);

/** A draft with the content of a message, without what says why it was dead-lettered. */
export function draftOf({ text, body, system }: ClientMessage): Draft {
  const asText = editableText(body);
  const properties = [...membersOf(membersOf(text).get('UserProperties') ?? '{}')].filter(
    ([name]) => !DEAD_LETTER_PROPERTIES.has(name),
  );
  const lines = properties.map(([name, value]) => `  ${JSON.stringify(name)}: ${value}`);
  return {
    body: asText ?? base64Of(body),
    isBase64: asText === undefined,
    newline: asText?.includes('\r\n') ? '\r\n' : '\n',
    system: Object.fromEntries(
      SYSTEM_FIELDS.flatMap(([name]) => {
        const value = system[name];
        const isDefault = name === 'TimeToLive' && isUnlimited(value);
        return value === undefined || value === null || isDefault ? [] : [[name, String(value)]];
      }),
    ),
    properties: lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n}`,
  };
}

/** The message as JSON for a batch. `scheduledAt` = epoch ms. Throws DraftError. */
export function messageText(draft: Draft, scheduledAt?: number): string {
  const { isBase64, newline, system, properties } = draft;
  requireObject(properties);
  const body = isBase64 ? draft.body : draft.body.replace(/\r?\n/g, newline);
  const written = Object.entries(system).filter(([, value]) => value !== '');
  const broker = {
    ...Object.fromEntries(
      written.map(([name, value]) => [name, name === 'TimeToLive' ? secondsOf(value) : value]),
    ),
    ...(scheduledAt === undefined
      ? {}
      : { ScheduledEnqueueTimeUtc: new Date(scheduledAt).toISOString() }),
  };
  const members = [
    `"Body":${JSON.stringify(body)}`,
    ...(isBase64 ? ['"BodyEncoding":"base64"'] : []),
    `"BrokerProperties":${JSON.stringify(broker)}`,
    `"UserProperties":${properties}`,
  ];
  return `{${members.join(',')}}`;
}

/** The text of a body that a form gives back as it was: all of its lines end alike, as on Unix or on Windows. */
function editableText(body: Uint8Array): string | undefined {
  const text = textOf(body);
  const ends = new Set(text?.match(/\r\n|\r|\n/g));
  return ends.size > 1 || ends.has('\r') ? undefined : text;
}

function requireObject(text: string): void {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'object' && json !== null && !Array.isArray(json)) return;
  } catch (cause) {
    throw new DraftError(`The properties are not JSON: ${(cause as Error).message}`, { cause });
  }
  throw new DraftError('The properties must be a JSON object: {"Tier":"gold","Quantity":7}.');
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new DraftError('The time to live must be a number of seconds above 0.');
}

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
