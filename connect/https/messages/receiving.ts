import type {
  ReceivedMessage,
  ReceiveOptions,
  Settlement,
  SettlementOutcome,
} from '../../../shared/broker/broker.ts';
import {
  type Call,
  type GroupLimits,
  type LaneOfGroup,
  Lanes,
} from '../../../shared/broker/group-commit/lanes.ts';
import { BrokerError, isTransient, serviceBusy } from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import type { Calls } from '../calls/caller.ts';
import type { RemoteEntities } from '../entities.ts';
import { queueKey } from '../format/paths.ts';
import { printSettlement } from '../format/settlement-json.ts';
import { answerCalls } from './answer-calls.ts';
import { receiveNow, settleAndReceive, settleNow } from './exchange.ts';
import { KeptMessages } from './kept-messages.ts';
import type { Paces } from './paces.ts';

/** As many settlements as the service takes in one request, and bytes of them. */
const LIMITS_OF_GROUP: GroupLimits = {
  calls: 1000,
  messages: LIMITS.settlements,
  bytes: 256 * 1024,
};
/** How long settlements wait for more of them while they keep coming, ms: less than a request takes. */
const LINGER_MS_MAX = 25;
/** For a message that nobody was given: it does not count as a delivery. */
const UNTRIED = { kind: 'abandon', isUncounted: true } as const;

/** Receives and settlements of one queue, or of one session, that may share a request. */
type Request =
  | { readonly kind: 'receive'; readonly path: EntityPath; readonly options: ReceiveOptions }
  | {
      readonly kind: 'settle';
      readonly path: EntityPath;
      readonly settlements: readonly Settlement[];
      readonly sessionId: string | undefined;
    };

type Receive = Extract<Request, { readonly kind: 'receive' }>;
type Settle = Extract<Request, { readonly kind: 'settle' }>;
type Outcome = readonly ReceivedMessage[] | readonly SettlementOutcome[];

/** The dependencies of receiving over HTTP. */
export interface ReceivingDependencies {
  readonly caller: Calls;
  readonly entities: Pick<RemoteEntities, 'forget'>;
  readonly scheduler: Scheduler;
  readonly paces: Paces;
  readonly background: (work: () => Promise<void>) => void;
}

/**
 * Receives and settles over HTTP. All receivers of a queue that wait in this process look for messages together, and
 * settlements go with the next look: one request serves them all.
 */
export class RemoteReceiving {
  readonly #dependencies: ReceivingDependencies;
  readonly #lanes: Lanes<Request, Outcome>;
  /** By lane. */
  readonly #kept = new KeptMessages();

  constructor(dependencies: ReceivingDependencies) {
    this.#dependencies = dependencies;
    this.#lanes = new Lanes(dependencies.scheduler, {
      limits: LIMITS_OF_GROUP,
      patience: 1,
      // A settlement wakes receivers, which then join its group.
      gathersInTurn: true,
      // A request costs more than the moment in which others join it.
      lingerMsMax: LINGER_MS_MAX,
      carryOut: (calls, lane) => this.#carryOut(calls, lane),
    });
  }

  /** See `Broker.receive`. */
  async receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]> {
    const { scheduler, paces } = this.#dependencies;
    const deadline = scheduler.now() + options.waitMs;
    const sessionId = options.session?.sessionId;
    const pace = paces.of(path, sessionId);
    const key = laneOf(path, options.mode, sessionId);
    for (;;) {
      await options.beforeAttempt?.();
      if (!isWanted(options)) return [];
      const kept = this.#kept.take(key, options.maxMessages);
      if (kept.length > 0) return kept;
      if (options.mode === 'receiveAndDelete') this.#kept.requireRoom();
      const isLast = scheduler.now() >= deadline;
      const request = { kind: 'receive', path, options } as const;
      try {
        const size = { messages: 0, bytes: 0 };
        const messages = (await this.#lanes.join(key, request, size)) as readonly ReceivedMessage[];
        if (messages.length > 0) {
          pace.active();
          return messages;
        }
        if (isLast || !isWanted(options)) return [];
      } catch (error) {
        if (!isTransient(error)) {
          // The entity is not as it was known, for instance disabled: the next link learns it as it attaches.
          this.#dependencies.entities.forget(path);
          throw error;
        }
        if (isLast) throw serviceBusy(error.message, { cause: error });
      }
      pace.foundNothing();
      options.onWait?.();
      await pace.wait(deadline - scheduler.now(), options.signal);
    }
  }

  /** See `Broker.settle`. */
  async settle(
    path: EntityPath,
    settlements: readonly Settlement[],
    sessionId: string | undefined,
  ): Promise<readonly SettlementOutcome[]> {
    if (settlements.length === 0) return [];
    const key = laneOf(path, 'peekLock', sessionId);
    const bytes = settlements.reduce((sum, one) => sum + printSettlement(one).length, 0);
    const size = { messages: settlements.length, bytes };
    const request = { kind: 'settle', path, settlements, sessionId } as const;
    const pace = this.#dependencies.paces.of(path, sessionId);
    // An abandoned message is there again.
    if (settlements.some(({ action }) => action.kind === 'abandon')) pace.active();
    else pace.lookNow();
    return (await this.#lanes.join(key, request, size)) as readonly SettlementOutcome[];
  }

  async #carryOut(
    calls: readonly Call<Request, Outcome>[],
    lane: LaneOfGroup<Request, Outcome>,
  ): Promise<void> {
    const settles = calls.filter(isSettle);
    const wanted = calls.filter(isReceive).filter((call) => isStillWanted(call));
    const [first] = wanted;
    // Of a session that was locked anew, the holder of each lock asks for itself.
    const receives = wanted.filter((call) => lockOf(call) === lockOf(first));
    lane.again(wanted.filter((call) => lockOf(call) !== lockOf(first)));
    try {
      if (receives.length === 0) await this.#settleOnly(settles);
      else if (settles.length === 0) await this.#receiveOnly(receives);
      else await this.#both(settles, receives);
    } catch (error) {
      // One wrong settlement has all of a request refused, so each caller asks for itself.
      const isOfOne = error instanceof BrokerError && error.code === 'ArgumentError';
      if (isOfOne && settles.length > 0 && calls.length > 1) {
        for (const call of [...settles, ...receives]) await this.#carryOut([call], lane);
      } else for (const call of [...settles, ...receives]) call.reject(error);
    }
  }

  async #settleOnly(calls: readonly Call<Settle, Outcome>[]): Promise<void> {
    const [first] = calls;
    if (first === undefined) return;
    const { path, sessionId } = first.request;
    const { caller } = this.#dependencies;
    answerCalls(calls, await settleNow(caller, path, settlementsOf(calls), sessionId));
  }

  async #receiveOnly(calls: readonly Call<Receive, Outcome>[]): Promise<void> {
    const { path, receipt } = receiptOf(calls);
    this.#deal(path, calls, await receiveNow(this.#dependencies.caller, path, receipt));
  }

  async #both(
    settles: readonly Call<Settle, Outcome>[],
    receives: readonly Call<Receive, Outcome>[],
  ): Promise<void> {
    const { path, receipt } = receiptOf(receives);
    const { caller } = this.#dependencies;
    const exchanged = await settleAndReceive(caller, path, settlementsOf(settles), receipt);
    answerCalls(settles, exchanged.outcomes);
    if ('messages' in exchanged.received) this.#deal(path, receives, exchanged.received.messages);
    else for (const call of receives) call.reject(exchanged.received.error);
  }

  /** Deals messages to their receivers, as evenly as these ask for them. */
  #deal(
    path: EntityPath,
    calls: readonly Call<Receive, Outcome>[],
    messages: readonly ReceivedMessage[],
  ): void {
    const wanted = calls.filter(({ request }) => takesFound(request.options));
    let dealt = 0;
    let othersTake = sumOfMost(wanted);
    for (const [i, { request, resolve }] of wanted.entries()) {
      const { maxMessages } = request.options;
      othersTake -= maxMessages;
      const left = messages.length - dealt;
      const share = Math.ceil(left / (wanted.length - i));
      const count = Math.min(maxMessages, Math.max(share, left - othersTake));
      resolve(messages.slice(dealt, dealt + count));
      dealt += count;
    }
    for (const { resolve } of calls) resolve([]);
    const [first] = calls;
    if (first !== undefined) this.#putBack(path, messages.slice(dealt), first.request.options);
  }

  /**
   * Unlocks messages that nobody waits for any more, and keeps those that were deleted. If it fails, locks end by time.
   */
  #putBack(
    path: EntityPath,
    messages: readonly ReceivedMessage[],
    { mode, session }: ReceiveOptions,
  ): void {
    if (messages.length === 0) return;
    const sessionId = session?.sessionId;
    if (mode === 'receiveAndDelete') {
      this.#kept.add(laneOf(path, mode, sessionId), messages);
      this.#dependencies.paces.of(path, sessionId).lookNow();
      return;
    }
    const settlements = messages.flatMap((message) =>
      'lockToken' in message ? [{ lockToken: message.lockToken, action: UNTRIED }] : [],
    );
    this.#dependencies.background(async () => {
      await this.settle(path, settlements, sessionId);
    });
  }
}

/** Receives and settlements with the same lane may share a request. */
function laneOf(path: EntityPath, mode: ReceiveOptions['mode'], sessionId: string | undefined) {
  return `${queueKey(path)}\n${mode}\n${sessionId ?? ''}`;
}

function isWanted({ signal, isWanted: wanted }: ReceiveOptions): boolean {
  return signal?.aborted !== true && wanted?.() !== false;
}

/** Whether a receive still takes messages that were found, as one does that was aborted only to end its wait. */
function takesFound({ signal, isWanted: wanted }: ReceiveOptions): boolean {
  return wanted === undefined ? signal?.aborted !== true : wanted();
}

function isSettle(call: Call<Request, Outcome>): call is Call<Settle, Outcome> {
  return call.request.kind === 'settle';
}

function isReceive(call: Call<Request, Outcome>): call is Call<Receive, Outcome> {
  return call.request.kind === 'receive';
}

/** Whether somebody still waits for the messages of a call; answers it if not. */
function isStillWanted({ request, resolve }: Call<Receive, Outcome>): boolean {
  const isStill = isWanted(request.options);
  if (!isStill) resolve([]);
  return isStill;
}

function lockOf(call: Call<Receive, Outcome> | undefined): string | undefined {
  return call?.request.options.session?.lockToken;
}

function settlementsOf(calls: readonly Call<Settle, Outcome>[]): readonly Settlement[] {
  return calls.flatMap(({ request }) => request.settlements);
}

/** What receives that share a request ask for together. */
function receiptOf(calls: readonly Call<Receive, Outcome>[]) {
  const [first] = calls;
  if (first === undefined) throw new Error('A group of receives has one.');
  const { path, options } = first.request;
  const { mode, session } = options;
  return { path, receipt: { mode, session, maxMessages: sumOfMost(calls) } };
}

function sumOfMost(calls: readonly Call<Receive, Outcome>[]): number {
  return calls.reduce((sum, { request }) => sum + request.options.maxMessages, 0);
}
