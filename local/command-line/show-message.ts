import { isUtf8 } from 'node:buffer';
import type { ClientMessage } from '../../client/message.ts';
import { type Column, printable, shortened, Table } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'NUMBER', isNumber: true },
  { title: 'ENQUEUED' },
  { title: 'STATE' },
  { title: 'DELIVERIES', isNumber: true },
  { title: 'SUBJECT OR ID' },
  { title: 'BODY' },
];
/** The column before which an entity with sessions has the column of the session. */
const SESSION_AT = 1;
const NAME_LENGTH = 36;
const BODY_LENGTH = 60;

/** A table with a row for each message: enough to find one. */
export class MessageTable {
  readonly #table: Table;
  readonly #hasSessions: boolean;

  constructor(hasSessions: boolean) {
    this.#hasSessions = hasSessions;
    this.#table = new Table(
      hasSessions ? COLUMNS.toSpliced(SESSION_AT, 0, { title: 'SESSION' }) : COLUMNS,
    );
  }

  /** The next rows; the first ones under the titles. */
  rows(messages: readonly ClientMessage[]): string {
    return this.#table.rows(messages.map((message) => this.#row(message)));
  }

  #row(message: ClientMessage): readonly string[] {
    const { sequenceNumber, system } = message;
    const name = textOf(system, 'Label') ?? textOf(system, 'MessageId') ?? '';
    const cells = [
      String(sequenceNumber),
      instantText(textOf(system, 'EnqueuedTimeUtc')),
      textOf(system, 'State') ?? '',
      String(system['DeliveryCount'] ?? ''),
      shortened(name, NAME_LENGTH),
      shortened(bodyText(message, BODY_LENGTH), BODY_LENGTH),
    ];
    const session = shortened(textOf(system, 'SessionId') ?? '', NAME_LENGTH);
    return this.#hasSessions ? cells.toSpliced(SESSION_AT, 0, session) : cells;
  }
}

/** A message with its whole body, for people. */
export function messageText(message: ClientMessage): string {
  const { sequenceNumber, system, properties, lockToken } = message;
  const facts = [
    instantText(textOf(system, 'EnqueuedTimeUtc')),
    `id ${textOf(system, 'MessageId')}`,
    ...labelled('subject', textOf(system, 'Label')),
    ...labelled('session', textOf(system, 'SessionId')),
    ...labelled('content type', textOf(system, 'ContentType')),
    `delivery ${system['DeliveryCount']}`,
    ...labelled('lock token', lockToken),
  ];
  const custom = Object.entries(properties).map(
    ([name, value]) => `\n  ${name} = ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(
    `#${sequenceNumber}  ${facts.join(', ')}${custom.join('')}\n${bodyText(message)}\n`,
  );
}

function labelled(label: string, text: string | undefined): readonly string[] {
  return text === undefined ? [] : [`${label} ${text}`];
}

/** `length` = the characters that are looked at. */
function bodyText({ body }: ClientMessage, length = body.length): string {
  const bytes = Buffer.from(body);
  if (!isUtf8(bytes)) return `(${body.length} bytes that are not text)`;
  return bytes.toString('utf8').slice(0, length + 1);
}

function textOf(system: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = system[name];
  return typeof text === 'string' ? text : undefined;
}

/** ISO 8601 in seconds, since that is how exact the service tells instants. */
function instantText(date: string | undefined): string {
  const at = Date.parse(date ?? '');
  return Number.isNaN(at) ? '' : new Date(at).toISOString().replace('.000', '');
}
