import type { Actor } from './actor.ts';
import { keep } from './client-state.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import { toMessage } from './wire.ts';

/** Sends and cancellations. */
export const sendOperations: Operations<'send' | 'cancel'> = { send, cancel };

function send(client: Actor, { to, messages }: ActionOf<'send'>): Prepared {
  const { registry, world } = client.context;
  const known = registry.of(to);
  return {
    run: async (composition) => {
      const now = composition.dependencies.clock.now();
      const outgoing = messages.map((message) => toMessage(message, now));
      const sent = await broker(composition).send(pathOf(to), outgoing);
      const numbers = new Map<string, bigint>();
      for (const [i, { sequenceNumber }] of sent.entries()) {
        const tag = messages[i]?.tag;
        if (tag !== undefined && sequenceNumber !== undefined) numbers.set(tag, sequenceNumber);
      }
      return { numbers };
    },
    record: (result) => {
      const details = answerOr(result);
      for (const { tag, delayMs, sessionId } of messages) {
        const sequenceNumber = details.numbers?.get(tag);
        if (sequenceNumber === undefined) continue;
        const own = world.requiresSession(to) ? sessionId : undefined;
        const numbered = { tag, sequenceNumber, sessionId: own };
        keep(delayMs === undefined ? known.stored : known.scheduled, numbered);
      }
      return details;
    },
  };
}

function cancel(client: Actor, { to, count }: ActionOf<'cancel'>): Prepared | undefined {
  const { registry, random } = client.context;
  const known = registry.of(to).scheduled;
  const [first] = known.length === 0 ? [] : [random.pick(known)];
  if (first === undefined) return undefined;
  const partition = first.sequenceNumber >> 48n;
  const chosen = known.filter(({ sequenceNumber }) => sequenceNumber >> 48n === partition);
  const named = [...new Map(chosen.slice(-count).map((one) => [one.sequenceNumber, one])).values()];
  const tags = named.map(({ tag }) => tag);
  return {
    run: async (composition) => {
      const numbers = named.map(({ sequenceNumber }) => sequenceNumber);
      await broker(composition).cancelScheduled(pathOf(to), numbers);
      return { tags };
    },
    record: (result) => answerOr(result, { tags }),
  };
}
