import type { Actor } from './actor.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import { keep } from './pool.ts';
import { toMessage } from './wire.ts';

/** Sends, and takes back what is scheduled. */
export const sendOperations: Operations<'send' | 'cancel'> = { send, cancel };

function send(client: Actor, { to, messages }: ActionOf<'send'>): Prepared {
  const { board, world } = client.parts;
  const known = board.of(to);
  return {
    ask: async (composition) => {
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
    note: (heard) => {
      const details = answerOr(heard);
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
  const { board, random } = client.parts;
  const known = board.of(to).scheduled;
  const [first] = known.length === 0 ? [] : [random.pick(known)];
  if (first === undefined) return undefined;
  const partition = first.sequenceNumber >> 48n;
  const chosen = known.filter(({ sequenceNumber }) => sequenceNumber >> 48n === partition);
  const named = [...new Map(chosen.slice(-count).map((one) => [one.sequenceNumber, one])).values()];
  const tags = named.map(({ tag }) => tag);
  return {
    ask: async (composition) => {
      const numbers = named.map(({ sequenceNumber }) => sequenceNumber);
      await broker(composition).cancelScheduled(pathOf(to), numbers);
      return { tags };
    },
    note: (heard) => answerOr(heard, { tags }),
  };
}
