import type { SubQueue } from '../entities/entity-path.ts';

/** How the messages of a queue, a subscription or a dead-letter queue are pushed to a target. */
export interface ConsumerSettings {
  /**
   * What is called: the ARN of a Lambda function, of one of its versions or aliases, or, on a local server, an
   * `http://` address of this machine.
   */
  readonly target: string;
  /** Messages of one call at most. */
  readonly maxBatch: number;
  /** How long a call waits for more messages once there is one, ms; 0 = not at all. */
  readonly batchWindowMs: number;
  /** Calls under way at the same time at most, however many processes dispatch. */
  readonly maxConcurrency: number;
  /** Messages a second at most, on average; absent = as many as the target takes. */
  readonly maxPerSecond?: number;
  /** How long one call may take, ms. */
  readonly timeoutMs: number;
  /** Whether messages are pushed; those of a disabled consumer stay in the queue. */
  readonly enabled: boolean;
}

/** A consumer of an entity, as it is stored with the entity. */
export interface Consumer extends ConsumerSettings {
  /** Unique in its sub-queue, whatever the case; in the spelling of its creation. */
  readonly name: string;
  readonly subQueue: SubQueue;
  /** A random id. A consumer that is made again under the same name has another one. */
  readonly id: string;
  /** Raised by each change. */
  readonly version: number;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The limits of a consumer's settings. Times in ms. */
export const CONSUMER_LIMITS = {
  /** Consumers of one entity with its dead-letter queues: its document, which every process reads, stays small. */
  perEntity: 10,
  maxBatchDefault: 10,
  maxBatchMax: 1000,
  batchWindowMsMax: 300_000,
  maxConcurrencyDefault: 10,
  maxConcurrencyMax: 1000,
  maxPerSecondMax: 100_000,
  timeoutMsDefault: 60_000,
  timeoutMsMin: 1000,
  /** A worker runs for 15 minutes at most, and hands over in time for its last calls to end. */
  timeoutMsMax: 600_000,
  targetLength: 512,
} as const;
