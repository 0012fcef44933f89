import type { ListedEntity } from '../../client/everything.ts';
import type { Versioned } from '../namespace/manage.ts';

/** A setting of an entity, as it is edited. */
export interface SettingField {
  readonly name: string;
  readonly label: string;
  readonly of: readonly ListedEntity['kind'][];
  readonly type: 'duration' | 'number' | 'flag' | 'text' | 'status';
  /** It cannot be changed after the creation. */
  readonly isFixed?: true;
  readonly hint?: string;
}

/** Settings that somebody has changed in the form and not saved. */
export interface UnsavedSettings {
  /** What the form began with. */
  readonly read: Versioned<ListedEntity>;
  /** What the form has. */
  readonly written: Readonly<Record<string, unknown>>;
}

const ALL = ['queue', 'topic', 'subscription'] as const;
const QUEUES = ['queue', 'subscription'] as const;
const SENT_TO = ['queue', 'topic'] as const;
const DURATION = 'ISO 8601, such as PT1M or P14D; empty = unlimited';

/** The settings that the page edits; others stay as they are. */
export const SETTING_FIELDS: readonly SettingField[] = [
  { name: 'status', label: 'Status', of: ALL, type: 'status' },
  {
    name: 'lockDuration',
    label: 'Lock duration',
    of: QUEUES,
    type: 'duration',
    hint: 'up to PT5M',
  },
  { name: 'maxDeliveryCount', label: 'Maximum delivery count', of: QUEUES, type: 'number' },
  {
    name: 'defaultMessageTimeToLive',
    label: 'Default time to live',
    of: ALL,
    type: 'duration',
    hint: DURATION,
  },
  {
    name: 'deadLetteringOnMessageExpiration',
    label: 'Dead-letter expired messages',
    of: QUEUES,
    type: 'flag',
  },
  {
    name: 'deadLetteringOnFilterEvaluationExceptions',
    label: 'Dead-letter messages that a rule fails on',
    of: ['subscription'],
    type: 'flag',
  },
  { name: 'forwardTo', label: 'Forward to', of: QUEUES, type: 'text', hint: 'a queue or topic' },
  {
    name: 'forwardDeadLetteredMessagesTo',
    label: 'Forward dead letters to',
    of: QUEUES,
    type: 'text',
    hint: 'a queue or topic',
  },
  {
    name: 'autoDeleteOnIdle',
    label: 'Delete when idle',
    of: ALL,
    type: 'duration',
    hint: DURATION,
  },
  { name: 'maxSizeInMegabytes', label: 'Maximum size, MB', of: SENT_TO, type: 'number' },
  { name: 'requiresSession', label: 'Requires sessions', of: QUEUES, type: 'flag', isFixed: true },
  {
    name: 'requiresDuplicateDetection',
    label: 'Detects duplicates',
    of: SENT_TO,
    type: 'flag',
    isFixed: true,
  },
  {
    name: 'duplicateDetectionHistoryTimeWindow',
    label: 'Duplicate detection window',
    of: SENT_TO,
    type: 'duration',
  },
  { name: 'enablePartitioning', label: 'Partitioned', of: SENT_TO, type: 'flag', isFixed: true },
  { name: 'userMetadata', label: 'User metadata', of: ALL, type: 'text' },
];

/** The values of `status`. */
export const STATUSES = ['Active', 'Disabled', 'SendDisabled', 'ReceiveDisabled'] as const;

/** Puts the fields of a form into the JSON of an entity. An empty text is no setting, which gets its default. */
export function withFields(
  json: Readonly<Record<string, unknown>>,
  fields: readonly SettingField[],
  form: FormData,
): Readonly<Record<string, unknown>> {
  const written = fields.map(({ name, type }) => {
    const value = readValue(type, form.get(name));
    // A field of one line shows a text without its ends of lines; they stay unless somebody changes the text.
    const isSame = type === 'text' && value === oneLine(json[name]);
    return [name, isSame ? json[name] : value];
  });
  return { ...json, ...Object.fromEntries(written) };
}

function oneLine(value: unknown): string | undefined {
  return (
    String(value ?? '')
      .replace(/[\r\n]/g, '')
      .trim() || undefined
  );
}

function readValue(type: SettingField['type'], value: FormDataEntryValue | null): unknown {
  if (type === 'flag') return value !== null;
  const text = String(value ?? '').trim();
  if (text === '') return undefined;
  return type === 'number' ? Number(text) : text;
}
