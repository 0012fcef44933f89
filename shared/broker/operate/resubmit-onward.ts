import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { withoutDeadLettering } from '../../domain/messages/dead-letter-reasons.ts';
import { capTimeToLive } from '../../domain/messages/message.ts';
import { forward } from '../routing/route.ts';
import { BATCH_MAX, type ResubmitDestination } from './resubmission.ts';

/** The main queue of an entity that forwards to `forwardTo`. What would be dropped there stays (semantics L16). */
export function onward(source: Receivable, forwardTo: string): ResubmitDestination {
  const { rules } = policyOf(source, 'main', 0);
  return {
    batchMax: BATCH_MAX,
    renewed: (message) => capTimeToLive(withoutDeadLettering(message), rules.defaultTimeToLiveMs),
    obstacleFor: () => undefined,
    requireRoom: async () => {},
    route: async ({ messages: store }, messages, partition) => {
      const to = resubmittedTo(logOf(source, 'main', partition));
      // The entity gets no bytes that it did not have.
      const first = await store.takeNumbers(to, [], messages.length);
      return [
        { to, copies: messages.map((message, i) => ({ sequence: first + BigInt(i), message })) },
      ];
    },
    rehearse: (dependencies, message, partition) =>
      forward(dependencies, source, forwardTo, [{ sequence: 0n, message }], partition),
    dropped: () =>
      new BrokerError(
        'NoMatchingSubscription',
        `'${source.name}' forwards to a topic of which no subscription matches the messages, so they stay where they are.`,
      ),
  };
}

/** The log to resubmit to. An entity that forwards and requires sessions stores the message outside of sessions. */
function resubmittedTo({ sessions: _, ...log }: Log): Log {
  return log;
}
