import { LIMITS } from '../domain/limits.ts';
import { type Message, shownPartitionKey } from '../domain/messages/message.ts';
import type { Properties, PropertyValue } from '../domain/messages/property-value.ts';
import { SPAN_MAX, TICKS_PER_MS } from './evaluation/values.ts';

/** What the broker knows about a message at its enqueue and the sender does not. */
export interface EnqueueFacts {
  /** Absent = not assigned yet; then sys.SequenceNumber is unknown. */
  readonly sequenceNumber?: bigint;
  /** Epoch milliseconds. */
  readonly enqueuedAt: number;
  /** The time to live in force; absent = unlimited. */
  readonly timeToLiveMs?: number;
  /** Epoch milliseconds; absent = never. */
  readonly expiresAt?: number;
  /** Of the whole message; absent makes sys.Size unknown. */
  readonly sizeBytes?: number;
}

/** A message as filters see it: its system and user properties, never its body (semantics T4). */
export class FilterInput {
  readonly message: Message;
  readonly facts: EnqueueFacts;
  /** Built on the first miss and then shared by all filters that look at this message. */
  #byLowerCase: ReadonlyMap<string, PropertyValue> | undefined;

  constructor(message: Message, facts: EnqueueFacts) {
    this.message = message;
    this.facts = facts;
  }

  /**
   * A user property. The exact name wins; otherwise case does not matter, and the first such
   * property in the message's own order is taken.
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

/** The name under which a property is there: the exact one, else the first that differs in case only. */
export function existingName(properties: Properties, name: string): string | undefined {
  if (Object.hasOwn(properties, name)) return name;
  const wanted = name.toLowerCase();
  return Object.keys(properties).find((key) => key.toLowerCase() === wanted);
}

/** Reads one system property; `undefined` = this message has none. */
export type SystemReader = (input: FilterInput) => PropertyValue | undefined;

const text = (value: string | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'string', value };
const long = (value: bigint | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'long', value };
const instant = (value: number | undefined): PropertyValue | undefined =>
  value === undefined ? undefined : { type: 'dateTime', value };

/**
 * The readable `sys.` names (semantics R19). Left out are State, LockToken
 * and LockedUntilUtc, which a message gets only inside a subscription, after its filters ran.
 * An unlimited time to live reads as the largest TimeSpan, as it does in .NET, so that
 * `sys.TimeToLive > @span` holds for it; its expiry likewise.
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
    // 0 for a message that was not forwarded, as in the REST samples (semantics M12).
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
    // Nobody has received it when filters run.
    DeliveryCount: (): PropertyValue => ({ type: 'int', value: 0 }),
    Size: ({ facts }: FilterInput) =>
      facts.sizeBytes === undefined ? undefined : long(BigInt(facts.sizeBytes)),
  }).map(([name, read]) => [name.toLowerCase(), read]),
);

/** The reader of a `sys.` name in any case of letters; `undefined` = there is no such name. */
export function systemReader(name: string): SystemReader | undefined {
  return SYSTEM_PROPERTIES.get(name.toLowerCase());
}

/** The sentence for a `sys.` name that does not exist; it is raised when the rule runs, not when it is made. */
export function unknownSystemProperty(name: string): string {
  const hint = name.toLowerCase() === 'subject' ? ' The subject is called sys.Label.' : '';
  return `there is no system property 'sys.${name}'.${hint}`;
}
