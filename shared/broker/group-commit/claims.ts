import { parseLockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { LIMITS as SERVICE_LIMITS } from '../../domain/limits.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { ReceivedMessage } from '../broker.ts';
import type { ClaimRequest, MessageStore } from '../ports/messages.ts';
import { Deal, MemoryRefused } from './deal.ts';
import { type Call, type GroupLimits, Lanes } from './lanes.ts';

/** As many messages as one receive may ask for. */
const LIMITS: GroupLimits = {
  calls: 500,
  messages: SERVICE_LIMITS.receiveMessages,
  bytes: Number.POSITIVE_INFINITY,
};

interface LogClaim {
  readonly log: Log;
  readonly request: ClaimRequest;
}

type Messages = readonly ReceivedMessage[];
type ClaimCall = Call<LogClaim, Messages>;
type Claim = MessageStore['claim'];

/** What claims of several callers need. */
interface GroupedClaimDependencies {
  readonly messages: Pick<MessageStore, 'claim' | 'settle'>;
  readonly scheduler: Scheduler;
  /** Runs work that no caller waits for. */
  readonly background: (work: () => Promise<void>) => void;
}

/**
 * Claims messages for a receive; receives that ask one log at the same time share one claim, whose messages are dealt
 * out in the order of asking. A receive that gets none, though others got some, asks again with the next group: only a
 * claim that found nothing proves that there is nothing (semantics #15). A session has one receiver, which claims
 * alone.
 */
export function groupedClaim(dependencies: GroupedClaimDependencies): Claim {
  const { messages, scheduler } = dependencies;
  const lanes = new Lanes<LogClaim, Messages>(scheduler, {
    limits: LIMITS,
    patience: 1,
    mayShare,
    carryOut: async (calls) => {
      const wanted = calls.filter(({ request: { request } }) => request.isWanted?.() !== false);
      for (const call of calls) if (!wanted.includes(call)) call.resolve([]);
      const [only, second] = wanted;
      if (only !== undefined && second === undefined) await claimAlone(messages.claim, only);
      return second === undefined ? [] : await claimTogether(dependencies, wanted);
    },
  });
  return (log, request) => {
    if (request.rules.session !== undefined) return messages.claim(log, request);
    const { entityId, generation, subQueue, partition } = log;
    const lane = `${entityId} ${generation} ${subQueue} ${partition}`;
    return lanes.join(lane, { log, request }, { messages: request.maxMessages, bytes: 0 });
  };
}

/** Claims share a group if they differ only in how many messages they want and may carry. */
function mayShare({ request: one }: LogClaim, { request: other }: LogClaim): boolean {
  return (
    one.mode === other.mode &&
    one.lockMs === other.lockMs &&
    one.rules.epoch === other.rules.epoch &&
    one.answer?.form === other.answer?.form &&
    one.answer?.headerBytes === other.answer?.headerBytes
  );
}

async function claimAlone(claim: Claim, call: ClaimCall): Promise<void> {
  const { log, request } = call.request;
  try {
    call.resolve(await claim(log, request));
  } catch (error) {
    call.reject(error);
  }
}

/** Claims for several callers; returns those that must ask again. */
async function claimTogether(
  dependencies: GroupedClaimDependencies,
  calls: readonly ClaimCall[],
): Promise<readonly ClaimCall[]> {
  const { claim } = dependencies.messages;
  const deal = new Deal(calls.map(({ request }) => request.request));
  const [first] = calls;
  if (first === undefined) return [];
  const { log } = first.request;
  let messages: Messages;
  try {
    messages = await claim(log, deal.request);
  } catch (error) {
    deal.giveBackAll();
    if (error instanceof MemoryRefused) for (const call of calls) await claimAlone(claim, call);
    else for (const call of calls) call.reject(error);
    return [];
  }
  // There are messages that no caller of a group can have, such as one too large for the answer of the first.
  if (messages.length === 0 && deal.refusedAll) {
    const [next, ...others] = calls.filter((_, i) => !deal.isServed(i));
    for (const [i, call] of calls.entries()) if (deal.isServed(i)) call.resolve([]);
    if (next !== undefined) await claimAlone(claim, next);
    return others;
  }
  const { hands, surplus } = deal.dealOut(messages);
  putBack(dependencies, first.request, surplus);
  const unserved: ClaimCall[] = [];
  for (const [i, call] of calls.entries()) {
    const hand = hands[i] ?? [];
    if (hand.length > 0 || messages.length === 0 || deal.isServed(i)) call.resolve(hand);
    else unserved.push(call);
  }
  if (!deal.hasLarge) return unserved;
  // Large messages would be claimed for one caller after the other.
  await Promise.all(unserved.map((call) => claimAlone(claim, call)));
  return [];
}

/** Unlocks messages for which nobody waits any more. Nobody has seen their locks, so the delivery does not count. */
function putBack(
  { messages, background }: GroupedClaimDependencies,
  { log, request }: LogClaim,
  surplus: Messages,
): void {
  const settlements = surplus.flatMap((message) =>
    'lockToken' in message
      ? [
          {
            token: parseLockToken(message.lockToken),
            action: { kind: 'abandon', isUncounted: true } as const,
          },
        ]
      : [],
  );
  if (settlements.length === 0) return;
  background(async () => {
    await messages.settle(log, settlements, request);
  });
}
