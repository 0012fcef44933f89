import type { ClientMessage } from '../../client/message.ts';
import { textOf } from './body.ts';

/** Which messages are looked for; an empty field lets all through. */
export interface MessageFilter {
  /** A part of the body, of a property or of a system property, in any case. */
  readonly text: string;
  /** The whole `DeadLetterReason`. */
  readonly reason: string;
  /** `name=value` of a property, or `name` alone. */
  readonly property: string;
  /** Epoch ms, both included. */
  readonly enqueuedFrom?: number | undefined;
  readonly enqueuedTo?: number | undefined;
}

/** The filter that lets all messages through. */
export const NO_FILTER: MessageFilter = { text: '', reason: '', property: '' };

/** Whether a filter lets all messages through. */
export function isEmptyFilter({
  text,
  reason,
  property,
  enqueuedFrom,
  enqueuedTo,
}: MessageFilter): boolean {
  return (
    text === '' &&
    reason === '' &&
    property === '' &&
    enqueuedFrom === undefined &&
    enqueuedTo === undefined
  );
}

/** What a filter asks for, in words: `the reason Declined and the text "visa"`. */
export function describeFilter(filter: MessageFilter): string {
  const { text, reason, property, enqueuedFrom, enqueuedTo } = filter;
  const instant = (ms: number) => new Date(ms).toISOString();
  const parts = [
    ...(reason === '' ? [] : [`the reason ${reason}`]),
    ...(text === '' ? [] : [`the text "${text}"`]),
    ...(property === '' ? [] : [`the property ${property}`]),
    ...(enqueuedFrom === undefined ? [] : [`enqueued from ${instant(enqueuedFrom)} on`]),
    ...(enqueuedTo === undefined ? [] : [`enqueued until ${instant(enqueuedTo)}`]),
  ];
  return parts.join(' and ');
}

/** Whether a filter lets a message through. `state` = the state that the message must have. */
export function matches(message: ClientMessage, filter: MessageFilter, state?: string): boolean {
  return (
    (state === undefined || message.system['State'] === state) &&
    hasReason(message, filter) &&
    hasProperty(message, filter) &&
    isInTime(message, filter) &&
    hasText(message, filter)
  );
}

/** The reason for which a message was dead-lettered; empty if it says none. */
export function reasonOf({ properties }: ClientMessage): string {
  const reason = properties['DeadLetterReason'];
  return typeof reason === 'string' ? reason : '';
}

function hasReason(message: ClientMessage, { reason }: MessageFilter): boolean {
  return reason === '' || reasonOf(message) === reason;
}

function hasProperty({ properties, system }: ClientMessage, { property }: MessageFilter): boolean {
  if (property === '') return true;
  const [name = '', ...rest] = property.split('=');
  const wanted = rest.join('=').trim();
  const all = Object.entries({ ...system, ...properties });
  const found = all.filter(([one]) => one.toLowerCase() === name.trim().toLowerCase());
  return found.some(([, value]) => rest.length === 0 || valueText(value) === wanted);
}

/** A value of a property as text; of one with a type, such as `{"$long":"7"}`, the value. */
export function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [entry] = Object.entries(value);
  return entry?.[0].startsWith('$') ? String(entry[1]) : JSON.stringify(value);
}

function isInTime(
  { system }: ClientMessage,
  { enqueuedFrom = Number.NEGATIVE_INFINITY, enqueuedTo = Number.POSITIVE_INFINITY }: MessageFilter,
): boolean {
  if (enqueuedFrom === Number.NEGATIVE_INFINITY && enqueuedTo === Number.POSITIVE_INFINITY) {
    return true;
  }
  const at = Date.parse(String(system['EnqueuedTimeUtc']));
  return at >= enqueuedFrom && at <= enqueuedTo;
}

function hasText(message: ClientMessage, { text }: MessageFilter): boolean {
  if (text === '') return true;
  const part = text.toLowerCase();
  const has = (one: string) => one.toLowerCase().includes(part);
  return (
    has(textOf(message.body) ?? '') ||
    // Their names are the same in each message.
    Object.values(message.system).some((value) => has(valueText(value))) ||
    Object.entries(message.properties).some(([name, value]) => has(name) || has(valueText(value)))
  );
}
