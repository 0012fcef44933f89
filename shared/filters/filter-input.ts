import { LIMITS } from '../domain/limits.ts';
import { type Message, shownPartitionKey } from '../domain/messages/message.ts';
import type { Properties, PropertyValue } from '../domain/messages/property-value.ts';
import { SPAN_MAX, TICKS_PER_MS } from './evaluation/values.ts';

/** The values that the broker assigns to a message at its enqueue. */
export interface EnqueueFacts {
  /** Absent = not assigned yet; sys.SequenceNumber is then unknown. */
  readonly sequenceNumber?: bigint;
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** The effective time to live; absent = unlimited. */
  readonly timeToLiveMs?: number;
  /** Epoch ms; absent = never. */
  readonly expiresAt?: number;
  /** The size of the whole message; absent = sys.Size is unknown. */
  readonly sizeBytes?: number;
}

/** A message as filters see it: its system and user properties, but not its body (semantics T4). */
export class FilterInput {
  readonly message: Message;
  readonly facts: EnqueueFacts;
  /**
   * User properties by lower-case name. Built when first needed, then shared by all filters of this message.
   */
  #byLowerCase: ReadonlyMap<string, PropertyValue> | undefined;

  constructor(message: Message, facts: EnqueueFacts) {
    this.message = message;
    this.facts = facts;
  }

  /**
   * A user property; `undefined` = the message has none of this name. The exact name has precedence.
   * Otherwise case is ignored, and the first such property in the message's own order counts (semantics R8).
   */
  property(name: string, lowerCaseName: string = name.toLowerCase()): PropertyValue | undefined {
    const { properties } = this.message;
    if (Object.hasOwn(properties, name)) return properties[name];
    this.#byLowerCase ??= lowerCased(properties);
    return this.#byLowerCase.get(lowerCaseName);
  }
}

function lowerCased(properties: Properties): ReadonlyMap<string, PropertyValue> {
  const found = new Map<string, PropertyValue>();
  for (const [name, value] of Object.entries(properties)) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, value);
  }
  return found;
}

/**
 * The actual name of a property: the exact name, else the first that differs only in case; `undefined` if
 * none.
 */
export function existingName(properties: Properties, name: string): string | undefined {
  if (Object.hasOwn(properties, name)) return name;
  const wanted = name.toLowerCase();
  return Object.keys(properties).find((key) => key.toLowerCase() === wanted);
}

/** Reads a system property; `undefined` = the message does not have it. */
export type SystemReader = (input: FilterInput) => PropertyValue | undefined;

const text = (value: string | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'string', value };
const long = (value: bigint | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'long', value };
const instant = (value: number | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'dateTime', value };

/**
 * The readable `sys.` properties (semantics R19). State, LockToken and LockedUntilUtc are missing, since a
 * message gets them only in the subscription, after filtering. An unlimited time to live has the value of the
 * largest TimeSpan, as in .NET, so that `sys.TimeToLive > @span` is true for it; the same applies to the
 * expiry (semantics R20).
 */
const SYSTEM_PROPERTIES: ReadonlyMap<string, SystemReader> = new Map<string, SystemReader>(
  Object.entries({
    MessageId: ({ message }: FilterInput) => text(message.messageId),
    CorrelationId: ({ message }: FilterInput) => text(message.correlationId),
    SessionId: ({ message }: FilterInput) => text(message.sessionId),
    ReplyTo: ({ message }: FilterInput) => text(message.replyTo),
    ReplyToSessionId: ({ message }: FilterInput) => text(message.replyToSessionId),
    To: ({ message }: FilterInput) => text(message.to),
    Label: ({ message }: FilterInput) => text(message.label),
    ContentType: ({ message }: FilterInput) => text(message.contentType),
    PartitionKey: ({ message }: FilterInput) => text(shownPartitionKey(message)),
    ViaPartitionKey: ({ message }: FilterInput) => text(message.viaPartitionKey),
    DeadLetterSource: ({ message }: FilterInput) => text(message.deadLetterSource),
    ForcePersistence: ({ message }: FilterInput): PropertyValue => ({
      type: 'boolean',
      value: message.forcePersistence === true,
    }),
    // 0 for a message that was not forwarded, as in the vendor's REST samples (semantics M12).
    EnqueuedSequenceNumber: ({ message }: FilterInput) =>
      long(message.enqueuedSequenceNumber ?? 0n),
    SequenceNumber: ({ facts }: FilterInput) => long(facts.sequenceNumber),
    EnqueuedTimeUtc: ({ facts }: FilterInput) => instant(facts.enqueuedAt),
    ScheduledEnqueueTimeUtc: ({ message }: FilterInput) => instant(message.scheduledEnqueueAt),
    ExpiresAtUtc: ({ facts }: FilterInput) => instant(facts.expiresAt ?? LIMITS.instantMax),
    TimeToLive: ({ facts }: FilterInput): PropertyValue => ({
      type: 'timeSpan',
      value:
        facts.timeToLiveMs === undefined
          ? SPAN_MAX
          : BigInt(Math.round(facts.timeToLiveMs)) * TICKS_PER_MS,
    }),
    // No receiver has received the message when filters run.
    DeliveryCount: (): PropertyValue => ({ type: 'int', value: 0 }),
    Size: ({ facts }: FilterInput) =>
      facts.sizeBytes === undefined ? undefined : long(BigInt(facts.sizeBytes)),
  }).map(([name, read]) => [name.toLowerCase(), read]),
);

/** The reader of a `sys.` property, by its case-insensitive name; `undefined` = there is no such property. */
export function systemReader(name: string): SystemReader | undefined {
  return SYSTEM_PROPERTIES.get(name.toLowerCase());
}

/** The error text for an unknown `sys.` name. The error occurs when the rule runs, not when it is created. */
export function unknownSystemProperty(name: string): string {
  const hint = name.toLowerCase() === 'subject' ? ' The subject is called sys.Label.' : '';
  return `there is no system property 'sys.${name}'.${hint}`;
}
