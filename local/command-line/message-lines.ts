import type { OutgoingText } from '../../client/batch-sender.ts';
import { fieldOf } from '../../client/client-errors.ts';
import { correction, shown } from '../../shared/domain/fault-words.ts';
import { UsageError } from '../startup-error.ts';
import type { Line } from './lines.ts';

/** Reads the lines of an export: a message each, in the format of batches. */

const TEXTS = [
  ...['ContentType', 'CorrelationId', 'Label', 'MessageId', 'PartitionKey', 'ReplyTo'],
  ...['ReplyToSessionId', 'ScheduledEnqueueTimeUtc', 'SessionId', 'To', 'ViaPartitionKey'],
];
/** What a sender sets beside the texts, and what the service sets, which an export has and an import ignores. */
const SYSTEM = [
  ...TEXTS,
  ...['ForcePersistence', 'TimeToLive', 'TimeToLiveTimeSpan'],
  ...['DeadLetterSource', 'DeliveryCount', 'EnqueuedSequenceNumber', 'EnqueuedTimeUtc'],
  ...['ExpiresAtUtc', 'LockToken', 'LockedUntilUtc', 'SequenceNumber', 'State'],
];
const PARTS = ['Body', 'BodyEncoding', 'BrokerProperties', 'UserProperties'];
const TYPES = new Set([
  ...['$sbyte', '$byte', '$short', '$ushort', '$int', '$uint', '$long', '$ulong'],
  ...['$timeSpan', '$dateTimeOffset', '$float', '$double', '$date', '$guid', '$uri', '$char'],
  ...['$bytes', '$decimal'],
]);
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** Reads a line. Throws UsageError with its number and what is wrong. `now` in epoch ms. */
export function readMessageLine({ number, text }: Line, now: number): OutgoingText {
  const json = parse(text, number);
  const fault = faultOf(json);
  if (fault !== undefined) throw new UsageError(`Line ${number} is not a message: ${fault}.`);
  const system = fieldOf(json, 'BrokerProperties');
  const scheduled = fieldOf(system, 'ScheduledEnqueueTimeUtc');
  const isLater = typeof scheduled === 'string' && Date.parse(scheduled) > now;
  const key = fieldOf(system, 'SessionId') ?? fieldOf(system, 'PartitionKey') ?? undefined;
  return {
    text,
    key: typeof key === 'string' ? key : undefined,
    scheduled: isLater ? scheduled : undefined,
    source: `line ${number}`,
  };
}

function parse(text: string, number: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`Line ${number} is not valid JSON.`, { cause });
  }
}

function faultOf(json: unknown): string | undefined {
  if (!isObject(json)) return 'it must be a JSON object';
  const unknown = faultOfName(json, PARTS);
  if (unknown !== undefined) return unknown;
  const body = fieldOf(json, 'Body');
  if (typeof body !== 'string') return 'Body is required and must be a text';
  const encoding = fieldOf(json, 'BodyEncoding') ?? undefined;
  if (encoding !== undefined && encoding !== 'base64') return "BodyEncoding may only be 'base64'";
  if (encoding !== undefined && !BASE64.test(body)) return 'Body is not valid base64';
  return (
    faultOfSystem(fieldOf(json, 'BrokerProperties') ?? {}) ??
    faultOfProperties(fieldOf(json, 'UserProperties') ?? {})
  );
}

/** A field of an unknown name would be lost without a word. */
function faultOfName(
  json: Readonly<Record<string, unknown>>,
  known: readonly string[],
): string | undefined {
  const name = Object.keys(json).find((one) => !known.includes(one));
  return name === undefined
    ? undefined
    : `there is no field ${shown(name)}; ${correction(name, known)}`;
}

function faultOfSystem(system: unknown): string | undefined {
  if (!isObject(system)) return 'BrokerProperties must be a JSON object';
  const unknown = faultOfName(system, SYSTEM);
  if (unknown !== undefined) return unknown;
  const wrong = TEXTS.find(
    (name) => !['string', 'undefined'].includes(typeof (system[name] ?? undefined)),
  );
  if (wrong !== undefined) return `${wrong} must be a text`;
  const at = system['ScheduledEnqueueTimeUtc'] ?? undefined;
  if (at !== undefined && Number.isNaN(Date.parse(String(at)))) {
    return 'ScheduledEnqueueTimeUtc is not a date';
  }
  const timeToLive = system['TimeToLive'] ?? undefined;
  return timeToLive === undefined || typeof timeToLive === 'number'
    ? undefined
    : 'TimeToLive must be a number of seconds';
}

function faultOfProperties(properties: unknown): string | undefined {
  if (!isObject(properties)) return 'UserProperties must be a JSON object';
  const wrong = Object.entries(properties).find(([, value]) => !isValue(value));
  return wrong === undefined
    ? undefined
    : `the property '${wrong[0].slice(0, 64)}' has no value that a message can hold`;
}

function isValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const [type = '', ...others] = Object.keys(value);
  return !Array.isArray(value) && others.length === 0 && TYPES.has(type);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
