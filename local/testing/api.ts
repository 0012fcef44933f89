/// <reference lib="esnext.disposable" preserve="true" />
import type { Duration } from '../config/description.ts';
import type { MessageHandler } from './handler-server.ts';

/** The content of a configuration file of the vendor's emulator, as JSON; checked when the namespace starts. */
export interface EmulatorConfiguration {
  readonly UserConfig: unknown;
}

/** A namespace of a test's own, with its own entities, messages and clock. */
export interface TestNamespace {
  /** The name of the namespace, a part of the connection strings. */
  readonly name: string;
  /** For the messaging clients, with all rights. */
  readonly connectionString: string;
  /** For the administration clients, with all rights. */
  readonly adminConnectionString: string;
  /** Its address over HTTP, for example `http://localhost:41234`. The token of a request chooses the namespace. */
  readonly url: string;
  readonly clock: NamespaceClock;
  /**
   * The messages of a queue, a subscription (`topic/subscriptions/name`) or its dead letters (`…/$deadletterqueue`)
   * by sequence number: active, locked, deferred and scheduled ones. Of an entity with sessions it shows the sessions
   * that have active messages, one after the other. It changes nothing, as a peek. Rejects if the entity does not
   * exist, or holds more than 10,000 messages.
   */
  messages(path: string): Promise<readonly TestMessage[]>;
  /**
   * Pushes the messages of a queue, a subscription or a dead-letter queue to a function, as a consumer pushes them to a
   * Lambda function: the event is that of an SQS trigger. Resolves once messages begin to be pushed. Rejects if the
   * entity does not exist, or a setting is wrong.
   */
  consume(path: string, handler: MessageHandler, settings?: ConsumeSettings): Promise<Consumption>;
  /**
   * Puts the namespace back to how it began: the declared entities with their declared settings, and no messages,
   * session states or locks. Clients stay connected. The clock stays where it is, since it only goes forward.
   */
  reset(): Promise<void>;
  /** Deletes the namespace. Close clients before. Afterwards all calls of it reject. */
  stop(): Promise<void>;
  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How messages are pushed to a function. */
export interface ConsumeSettings {
  /** The name of the consumer. Default: another one each time. */
  readonly name?: string;
  /** Messages of one call at most, up to 1,000. Default: 10. */
  readonly maxBatch?: number;
  /** How long a call waits for more messages once there is one, up to 5 minutes. Default: not at all. */
  readonly batchWindow?: Duration;
  /** Calls at the same time at most, up to 1,000. Default: 10. */
  readonly maxConcurrency?: number;
  /** Messages a second at most, on average. Default: any number. */
  readonly maxPerSecond?: number;
  /** How long one call may take, up to 10 minutes. Default: 1 minute. */
  readonly timeout?: Duration;
}

/** Messages that are pushed to a function. */
export interface Consumption {
  /** Pushes no more. A call that is under way goes on. */
  stop(): Promise<void>;
  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The clock of a namespace: of locks, schedules, times to live and idle entities. It runs on by itself, and goes
 * forward only. No connection or token ends because it is moved.
 */
export interface NamespaceClock {
  /** The time in the namespace. */
  now(): Promise<Date>;
  /**
   * Moves the clock ahead, for example by `{ days: 14 }`. Resolves with the new time once everything that came due
   * is done: locks have ended, and scheduled messages are active. A receive moves expired messages to the dead-letter
   * queue.
   */
  advance(by: Duration): Promise<Date>;
  /** Moves the clock ahead to an instant, or its ISO 8601 text. Rejects if it is in the past. */
  advanceTo(instant: Date | string): Promise<Date>;
}

/** A message as it lies in an entity. Names are those of the official client. */
export interface TestMessage {
  /** As the official client decodes it: the value of JSON, or else text, or else bytes. */
  readonly body: unknown;
  readonly messageId?: string;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  readonly correlationId?: string;
  readonly subject?: string;
  readonly to?: string;
  readonly replyTo?: string;
  readonly replyToSessionId?: string;
  readonly contentType?: string;
  readonly applicationProperties: Readonly<Record<string, unknown>>;
  readonly sequenceNumber: bigint;
  readonly state: 'active' | 'deferred' | 'scheduled';
  /** Failed deliveries so far. */
  readonly deliveryCount: number;
  readonly enqueuedTime: Date;
  readonly scheduledEnqueueTime?: Date;
  readonly expiresAt?: Date;
  readonly deadLetterReason?: string;
  readonly deadLetterErrorDescription?: string;
  readonly deadLetterSource?: string;
}
