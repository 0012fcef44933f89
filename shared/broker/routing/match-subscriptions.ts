import { BrokerError } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type {
  SubscriptionDescription,
  TopicDescription,
} from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { capTimeToLive, type Message } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import { FilterInput } from '../../filters/filter-input.ts';
import { matchInSteps, type RuleMatch } from '../../filters/match.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { Copy } from '../ports/publication.ts';
import { tooManyCopies } from './copy-account.ts';
import { withReason } from './obstacles.ts';
import { TimeSlice } from './time-slice.ts';

/** The copies that the rules of a topic's subscriptions make of messages. */
export interface Matched {
  /** The number of sequence numbers that all copies need. */
  readonly numbers: number;
  /** The number of copies and failures for all subscriptions together. */
  readonly copies: number;
  /** Whether no subscription matches any of the messages. */
  readonly isUnmatched: boolean;
  readonly subscriptions: readonly MatchedSubscription[];
}

/** The copies of messages for one subscription. */
export interface MatchedSubscription {
  readonly entity: Entity<SubscriptionDescription>;
  /** Their `sequence` is an offset to the first number, which is taken later. */
  readonly copies: readonly Copy[];
  /** Messages on which a rule failed, with the failure as their dead-letter reason. */
  readonly failures: readonly Copy[];
}

/** How messages arrive: in a send whose sender waits for an answer, or from another entity. */
export type Arrival = 'sent' | 'forwarded';

/**
 * Matches messages that arrive at a topic with the rules of its subscriptions. A message that none wants is dropped
 * (semantics M19, #104), except for a sender to a topic that refuses it (semantics T7). Throws NoMatchingSubscription;
 * MessageSizeExceeded for a batch that makes too many copies; ServiceBusy if `dependencies.copies` has no room for
 * them.
 */
export async function matchArriving(
  dependencies: BrokerDependencies,
  topic: Entity<TopicDescription>,
  arriving: readonly Message[],
  how: Arrival,
): Promise<{ readonly messages: readonly Message[]; readonly matched: Matched }> {
  const { defaultTimeToLiveMs, filteringMessagesBeforePublishing } = topic.description;
  const messages = arriving.map((message) => capTimeToLive(message, defaultTimeToLiveMs));
  // A forwarded batch was accepted already and can no longer be refused.
  const copiesMax = how === 'sent' ? BUDGETS.request.copies : Number.POSITIVE_INFINITY;
  const matched = await matchSubscriptions(dependencies, topic, messages, copiesMax);
  // A forwarded message without a match is dropped.
  if (how === 'sent' && filteringMessagesBeforePublishing && matched.isUnmatched) {
    throw new BrokerError(
      'NoMatchingSubscription',
      `No subscription of the topic '${topic.name}' matches the message.`,
    );
  }
  return { messages, matched };
}

/**
 * Evaluates the rules of all subscriptions for each message (semantics T3), before anything is written
 * (semantics T2, T4). A message has the same number in every subscription that gets it unchanged; if a subscription
 * gets several copies of one, each has a number of its own.
 */
async function matchSubscriptions(
  dependencies: BrokerDependencies,
  topic: Entity<TopicDescription>,
  messages: readonly Message[],
  copiesMax: number,
): Promise<Matched> {
  const subscribed = await dependencies.subscriptions.of(topic);
  const enqueuedAt = dependencies.clock.now();
  const slice = new TimeSlice(dependencies);
  const found = subscribed.map(() => ({ copies: [] as Copy[], failures: [] as Copy[] }));
  let next = 0n;
  let total = 0;
  for (const message of messages) {
    const input = new FilterInput(message, {
      enqueuedAt,
      sizeBytes: messageSize(message),
      ...(message.timeToLiveMs === undefined
        ? {}
        : { timeToLiveMs: message.timeToLiveMs, expiresAt: enqueuedAt + message.timeToLiveMs }),
    });
    let width = 1;
    let made = 0;
    for (const [i, { entity, rules }] of subscribed.entries()) {
      const matching = matchInSteps(rules, input, dependencies.random);
      let step = matching.next();
      while (step.done !== true) {
        if (slice.isOver) await slice.next();
        step = matching.next();
      }
      const match = step.value;
      const { copies, failures } = toCopies(entity.description, match, message, next);
      found[i]?.copies.push(...copies);
      found[i]?.failures.push(...failures);
      width = Math.max(width, copies.length + failures.length);
      made += copies.length + failures.length;
    }
    total += made;
    if (total > copiesMax) throw tooManyCopies(copiesMax);
    dependencies.copies?.hold(made);
    next += BigInt(width);
  }
  return {
    numbers: Number(next),
    copies: total,
    isUnmatched: found.every(({ copies, failures }) => copies.length + failures.length === 0),
    subscriptions: subscribed.map(({ entity }, i) => ({
      entity,
      copies: found[i]?.copies ?? [],
      failures: found[i]?.failures ?? [],
    })),
  };
}

/** The copies, and the dead letter of a rule that failed, if the subscription wants it (semantics #C10). */
function toCopies(
  { deadLetteringOnFilterEvaluationExceptions }: SubscriptionDescription,
  { copies, failures }: RuleMatch,
  message: Message,
  first: bigint,
): { readonly copies: readonly Copy[]; readonly failures: readonly Copy[] } {
  // A message on which several rules failed becomes one dead letter, or nothing (semantics #113).
  const [failure] = deadLetteringOnFilterEvaluationExceptions ? failures : [];
  return {
    copies: copies.map((copy, i) => ({ sequence: first + BigInt(i), message: copy.message })),
    failures:
      failure === undefined
        ? []
        : [
            {
              sequence: first + BigInt(copies.length),
              message: withReason(message, {
                reason: failure.error.typeName,
                description: failure.error.message,
              }),
            },
          ],
  };
}
