import { parseLockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { LIMITS as SERVICE_LIMITS } from '../../domain/limits.ts';
import { resultOf } from '../../domain/result-of.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { ReceivedMessage } from '../broker.ts';
import type { ClaimRequest, MessageStore } from '../ports/messages.ts';
import { isWanted, MemoryRefused } from './claim-plan.ts';
import { type ClaimCall, Deal, type LogClaim } from './deal.ts';
import { type GroupLimits, type LaneOfGroup, Lanes } from './lanes.ts';

/** A receive of more messages goes alone: it has little to gain from company, and others would wait for it. */
const SHARED_MESSAGES_MAX = 100;
/** As many messages as one receive may ask for. */
const LIMITS: GroupLimits = {
  calls: 500,
  messages: SERVICE_LIMITS.receiveMessages,
  bytes: Number.POSITIVE_INFINITY,
};

type Messages = readonly ReceivedMessage[];
type Claim = MessageStore['claim'];

/** What claims of several callers need. */
interface GroupedClaimDependencies {
  readonly messages: Pick<MessageStore, 'claim' | 'settle'>;
  readonly scheduler: Scheduler;
  /** Runs work whose failure no caller hears of. */
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
    carryOut: async (calls, lane) => {
      const wanted: ClaimCall[] = [];
      for (const call of calls) {
        if (isWanted(call.request.request)) wanted.push(call);
        else call.resolve([]);
      }
      const [only, second] = wanted;
      if (only === undefined) return;
      if (second === undefined) await claimAlone(messages.claim, only);
      else await claimTogether(dependencies, wanted, lane);
    },
  });
  return (log, request) => {
    const isAlone =
      request.rules.session !== undefined || request.maxMessages > SHARED_MESSAGES_MAX;
    if (isAlone) return messages.claim(log, request);
    return lanes.join(
      laneOf(log, request),
      { log, request, missed: { failed: 0, lost: 0 } },
      { messages: request.maxMessages, bytes: 0 },
    );
  };
}

/** Claims of one lane differ only in how many messages they want, and in what their callers may hold. */
function laneOf(log: Log, { mode, lockMs, rules, answer }: ClaimRequest): string {
  const { entityId, generation, subQueue, partition } = log;
  const form = answer && [answer.form, answer.bytes, answer.headerBytes, answer.oneMayExceed];
  return JSON.stringify([
    entityId,
    generation,
    subQueue,
    partition,
    mode,
    lockMs,
    rules.epoch,
    form,
  ]);
}

async function claimAlone(claim: Claim, call: ClaimCall): Promise<void> {
  const { log, request } = call.request;
  try {
    call.resolve(await claim(log, request));
  } catch (error) {
    call.reject(error);
  }
}

/** Claims for several callers. */
async function claimTogether(
  dependencies: GroupedClaimDependencies,
  calls: readonly ClaimCall[],
  lane: LaneOfGroup<LogClaim, Messages>,
): Promise<void> {
  const { claim } = dependencies.messages;
  const [first] = calls;
  if (first === undefined) return;
  /** What the next group waits for. */
  const afterwards: Promise<void>[] = [];
  const deal = new Deal(calls, {
    unserved: (unserved) => {
      // Large messages would be claimed for one caller after the other.
      if (deal.hasLarge) afterwards.push(claimEachAlone(claim, unserved));
      else lane.again(unserved);
    },
    surplus: (locked) => afterwards.push(putBack(dependencies, first.request, locked)),
  });
  lane.onStall(() => deal.stall());
  const claimed = await resultOf(claim(first.request.log, deal.request));
  if (!('error' in claimed)) deal.end();
  else if (claimed.error instanceof MemoryRefused) {
    await claimEachAlone(claim, deal.leave());
  } else deal.fail(claimed.error);
  await Promise.all(afterwards);
}

async function claimEachAlone(claim: Claim, calls: readonly ClaimCall[]): Promise<void> {
  await Promise.all(calls.map((call) => claimAlone(claim, call)));
}

/**
 * Unlocks messages for which nobody waits any more. Nobody has seen their locks, so the delivery does not count. The
 * next group of the lane begins after that, so that it finds them.
 */
async function putBack(
  { messages, background }: GroupedClaimDependencies,
  { log, request }: LogClaim,
  surplus: Messages,
): Promise<void> {
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
  await new Promise<void>((end) => {
    // If it fails, the locks end by time.
    background(() => messages.settle(log, settlements, request, () => {}).finally(end));
  });
}
