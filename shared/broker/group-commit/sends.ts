import { assert } from '../../domain/assert.ts';
import { BrokerError, type BrokerErrorCode, BusyForThis } from '../../domain/broker-error.ts';
import { partitionsOf, requiresSession } from '../../domain/entities/entity.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import { partitionOfKey } from '../../domain/messages/partition.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import {
  type AcceptedMessages,
  type SentNumbers,
  type StoreSend,
  storeMessages,
  storesSentMessages,
} from '../send/send.ts';
import { type Call, type CallSize, type GroupLimits, Lanes } from './lanes.ts';
import type { SendTurn } from './send-order.ts';

/** As many messages as three blocks hold, in one write. */
const LIMITS: GroupLimits = { calls: 100, messages: 100, bytes: 512 * 1024 };
/** A send that takes more of a group goes alone: it has little to gain from company, and others would wait for it. */
const SHARE_MAX = 0.25;
/**
 * How many messages one counts for that may take several items of the write: because of its session, its due time, or
 * the subscriptions of its topic.
 */
const MANY_ITEMS = 3;

/** Refusals of a whole group that may concern a single send of it, beside BusyForThis. Nothing was stored. */
const OWN_REFUSALS: ReadonlySet<BrokerErrorCode> = new Set([
  'ArgumentError',
  'InvalidOperation',
  'MessageSizeExceeded',
]);

/** When messages are received: at once, or when they come due. */
type Timing = 'now' | 'later';

interface SendRequest {
  readonly accepted: AcceptedMessages;
  readonly timing: Timing;
  /** Epoch ms. */
  readonly now: number;
}

type SendCall = Call<SendRequest, SentNumbers>;

/**
 * Stores accepted messages; sends that arrive together for one partition of an entity share a write. Each has been
 * checked alone before, and if a group is refused all the same, each is tried again alone. A send goes alone if it
 * takes more than a quarter of a group; if some of its messages are scheduled and some not; and to a topic that refuses
 * messages without a matching subscription, because it refuses a group only if none of its messages matches
 * (semantics T7).
 */
export function groupedStore(
  dependencies: BrokerDependencies & { readonly scheduler: Scheduler },
): (...send: [...Parameters<StoreSend>, turn?: SendTurn]) => ReturnType<StoreSend> {
  const { clock, scheduler } = dependencies;
  const lanes = new Lanes<SendRequest, SentNumbers>(scheduler, {
    limits: LIMITS,
    // A change of the entity must not reorder the sends of a link, but what it changes holds for later sends only.
    mayShare: ({ accepted: one }, { accepted: other }) => one.entity.epoch === other.entity.epoch,
    // Many senders send again only when they have done something else.
    patience: 0.5,
    carryOut: (calls) => storeGroup(dependencies, calls),
  });
  return async (accepted, { orderedBy }, turn) => {
    const now = clock.now();
    const timing = timingOf(accepted.messages, now);
    const size = sizeOf(accepted, timing);
    const isShared =
      timing !== undefined &&
      size.messages <= SHARE_MAX * LIMITS.messages &&
      size.bytes <= SHARE_MAX * LIMITS.bytes &&
      !refusesUnmatched(accepted);
    if (!isShared) {
      await turn?.othersStored();
      return await storeMessages(dependencies, accepted, now);
    }
    const stored = lanes.join(laneOf(accepted, timing), { accepted, timing, now }, size, orderedBy);
    turn?.joined();
    return await stored;
  };
}

/** Undefined if some messages are scheduled and some are not. */
function timingOf(messages: readonly Message[], now: number): Timing | undefined {
  const later = messages.filter(({ scheduledEnqueueAt = 0 }) => scheduledEnqueueAt > now).length;
  if (later === 0) return 'now';
  return later === messages.length ? 'later' : undefined;
}

function sizeOf({ entity, messages }: AcceptedMessages, timing: Timing | undefined): CallSize {
  const isPlain = timing === 'now' && storesSentMessages(entity) && !requiresSession(entity);
  return {
    messages: messages.length * (isPlain ? 1 : MANY_ITEMS),
    bytes: messages.reduce((sum, message) => sum + messageSize(message), 0),
  };
}

function refusesUnmatched({ entity: { description } }: AcceptedMessages): boolean {
  return description.kind === 'topic' && description.filteringMessagesBeforePublishing;
}

/** Sends of one lane go to the same partition of an entity, at the same time. */
function laneOf({ entity, placementKey }: AcceptedMessages, timing: Timing): string {
  const partition =
    placementKey === undefined ? '' : partitionOfKey(placementKey, partitionsOf(entity));
  return `${entity.id} ${partition} ${timing}`;
}

async function storeGroup(
  dependencies: BrokerDependencies,
  calls: readonly SendCall[],
): Promise<void> {
  const [first] = calls;
  if (first === undefined) return;
  try {
    const numbers = await storeMessages(
      dependencies,
      together(calls),
      instantOf(dependencies, first),
    );
    for (const call of calls) call.resolve(numbers);
  } catch (error) {
    if (calls.length > 1 && mayBeOfOne(error)) {
      for (const call of calls) await storeGroup(dependencies, [call]);
    } else for (const call of calls) call.reject(error);
  }
}

/** Whether a send of the refused group may be accepted alone. */
export function mayBeOfOne(error: unknown): boolean {
  if (error instanceof BusyForThis) return true;
  return error instanceof BrokerError && OWN_REFUSALS.has(error.code);
}

/** The instant that decides what is scheduled: what was due at the call still is, and what was not still is not. */
function instantOf({ clock }: BrokerDependencies, { request }: SendCall): number {
  return request.timing === 'now' ? clock.now() : request.now;
}

/** The messages of several sends as those of one. */
function together(calls: readonly SendCall[]): AcceptedMessages {
  const all = calls.map(({ request }) => request.accepted);
  const [first] = all;
  assert(first !== undefined, 'a group has a call');
  const keys = new Map(all.flatMap(({ detection }) => [...(detection?.keys ?? [])]));
  const detection = all.find((one) => one.detection !== undefined)?.detection;
  return {
    ...first,
    messages: all.flatMap(({ messages }) => messages),
    detection: detection && { ...detection, keys },
  };
}
