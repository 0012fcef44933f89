import type { Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { present } from '../../shared/domain/present.ts';
import type { OutgoingDelivery, OutgoingLink } from '../endpoint/outgoing-link.ts';
import { settleAdjacent } from '../endpoint/settle-adjacent.ts';
import {
  changedProperties,
  guidText,
  swapGuid,
  toProperties,
} from '../messages/property-values.ts';
import type { ClientContext } from '../service/context.ts';
import { connectionMemoryExceeded, rejection } from '../service/error-mapping.ts';
import { actionBytes } from '../transactions/operations.ts';
import type { DeliveryState, Outcome } from '../wire/states.ts';

/** The most settlements in one call of the broker. */
const GROUP_MAX = 1000;
const REJECTED: Outcome = { kind: 'rejected' };
const { settlementBytes: SETTLEMENT_BYTES } = BUDGETS.weights;
const DEAD_LETTER = 'com.microsoft:dead-letter';

/** An outcome from the peer, which one frame may give to thousands of deliveries. */
interface RequestedOutcome {
  /** The settlement that it requests. */
  readonly action: SettlementAction;
  /** The outcome that confirms it. */
  readonly answer: Outcome;
  /** Its memory, bytes. */
  readonly bytes: number;
  /** Deliveries with this outcome whose settlement is under way. */
  pending: number;
}

interface Pending {
  readonly delivery: OutgoingDelivery;
  readonly request: RequestedOutcome;
}

/** Settlements for one call of the broker. A promise for each delivery would take far more memory. */
type Group = Pending[];

/** The address and path of the entity whose messages are settled. */
export interface SettledEntity {
  readonly pathname: string;
  readonly path: EntityPath;
}

/**
 * Carries out and confirms the outcomes that the peer sends for messages of one link. Outcomes that arrive in one turn
 * of the event loop, for which one frame may be enough, are one call of the broker.
 */
export class Settler {
  readonly #context: ClientContext;
  readonly #link: OutgoingLink;
  readonly #path: EntityPath;
  readonly #pathname: string;
  readonly #sessionId: string | undefined;
  /** Decoded outcomes: each is decoded once, however many deliveries have it. */
  readonly #requests = new WeakMap<Outcome, RequestedOutcome>();
  /** The group of this turn. */
  #group: Group | undefined;

  constructor(
    context: ClientContext,
    link: OutgoingLink,
    { path, pathname }: SettledEntity,
    sessionId?: string,
  ) {
    this.#context = context;
    this.#link = link;
    this.#path = path;
    this.#pathname = pathname;
    this.#sessionId = sessionId;
  }

  /**
   * Handles a disposition of the peer. Without an outcome it does nothing: the message's lock expires (semantics L19).
   */
  add(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
    if (state?.kind === 'transactional') this.#enlist(delivery, state);
    if (state === undefined || !isOutcome(state)) return;
    const request = this.#requestOf(state);
    if (!this.#hold(request)) {
      // Each refusal costs a frame.
      this.#context.limits.countFrame();
      this.#link.settle([delivery], this.#rejected(connectionMemoryExceeded()));
      return;
    }
    this.#lastGroup().push({ delivery, request });
  }

  /** Returns the group to add to, a new one in each turn and if the last is full. */
  #lastGroup(): Group {
    if (this.#group !== undefined && this.#group.length < GROUP_MAX) return this.#group;
    const group: Group = [];
    this.#group = group;
    const { settlements, background, dependencies } = this.#context;
    const settlement = new Promise<void>((done) => {
      dependencies.scheduler.soon(() => {
        if (this.#group === group) this.#group = undefined;
        background(() => this.#run(group).finally(done));
      });
    });
    settlements.add(this.#path, settlement);
    background(() => settlement);
    return group;
  }

  #requestOf(state: Outcome): RequestedOutcome {
    const known = this.#requests.get(state);
    if (known !== undefined) return known;
    const action = actionOf(state);
    const request = { action, answer: answerTo(state), bytes: actionBytes(action), pending: 0 };
    this.#requests.set(state, request);
    return request;
  }

  /** Holds the memory of a settlement until it is done; false if the connection may hold no more. */
  #hold(request: RequestedOutcome): boolean {
    const bytes = SETTLEMENT_BYTES + (request.pending === 0 ? request.bytes : 0);
    if (!this.#context.limits.tryHoldWork(bytes)) return false;
    request.pending++;
    return true;
  }

  #release(request: RequestedOutcome): void {
    request.pending--;
    this.#context.limits.releaseWork(
      SETTLEMENT_BYTES + (request.pending === 0 ? request.bytes : 0),
    );
  }

  /** Adds a settlement to its transaction, whose discharge carries it out. The lock stays until then. */
  #enlist(
    delivery: OutgoingDelivery,
    { transaction, outcome }: Extract<DeliveryState, { readonly kind: 'transactional' }>,
  ): void {
    if (outcome === undefined) return;
    // The answer is a frame for each delivery, so a disposition of thousands costs thousands of frames.
    this.#context.limits.countFrame();
    const { action, answer } = this.#requestOf(outcome);
    const settlement = { lockToken: lockTokenOf(delivery.tag), action };
    const path = this.#path;
    const sessionId = this.#sessionId;
    try {
      const operation = { kind: 'settle', path, settlement, sessionId } as const;
      const onCommit = () => this.#link.settle([delivery], answer);
      const need = { pathname: this.#pathname, path, right: 'Listen' } as const;
      const enlistment = this.#context.transactions.enlist(transaction);
      enlistment.add(operation, need, onCommit);
      enlistment.end();
      this.#link.reportState(delivery, { kind: 'transactional', transaction, outcome: answer });
    } catch (error) {
      this.#link.reportState(delivery, this.#rejected(error));
    }
  }

  async #run(group: readonly Pending[]): Promise<void> {
    await this.#context.settlements.runLimited(group.length, () => this.#settle(group));
    for (const { request } of group) this.#release(request);
  }

  async #settle(group: readonly Pending[]): Promise<void> {
    const settlements: Settlement[] = group.map(({ delivery: { tag }, request: { action } }) => ({
      lockToken: lockTokenOf(tag),
      action,
    }));
    const { authorization, dependencies } = this.#context;
    const { broker } = dependencies;
    try {
      // The right may have been revoked since the messages were delivered.
      await authorization.confirm(this.#pathname, this.#path, ['Listen']);
      const outcomes = await broker.settle(this.#path, settlements, this.#sessionId);
      const states = group.map(({ request }, i) => {
        const refusal = outcomes[i]?.refusal;
        return refusal === undefined ? request.answer : this.#rejected(refusal);
      });
      this.#answer(group, states);
    } catch (error) {
      const rejected = this.#rejected(error);
      this.#answer(
        group,
        group.map(() => rejected),
      );
    }
  }

  #rejected(error: unknown): Outcome {
    return rejection(this.#context.dependencies, error, this.#path.name);
  }

  #answer(group: readonly Pending[], states: readonly Outcome[]): void {
    settleAdjacent(
      this.#link,
      group.map(({ delivery }) => delivery),
      states,
    );
    this.#context.sendNow();
  }
}

function isOutcome(state: DeliveryState): state is Outcome {
  return ['accepted', 'released', 'rejected', 'modified'].includes(state.kind);
}

/**
 * Returns the outcome that confirms one of the peer (semantics W15). It omits the error, which would mean a refusal by
 * this service, and annotations, which would only cost memory and bytes.
 */
function answerTo(state: Outcome): Outcome {
  if (state.kind === 'rejected') return REJECTED;
  if (state.kind !== 'modified') return state;
  const { annotations, ...rest } = state;
  return rest;
}

/** Returns the lock token of a delivery: its tag, in .NET's order of GUID bytes. */
export function lockTokenOf(tag: Uint8Array): string {
  return guidText(swapGuid(tag));
}

/** Returns the settlement that an outcome requests (semantics L17, L18, L20). */
function actionOf(state: Outcome): SettlementAction {
  switch (state.kind) {
    case 'accepted':
      return { kind: 'complete' };
    case 'released':
      return { kind: 'abandon', isUncounted: true };
    case 'modified': {
      const kind = state.undeliverableHere === true ? 'defer' : 'abandon';
      return { kind, ...changedProperties(state.annotations) };
    }
    case 'rejected':
      return deadLetter(state.error);
  }
}

/**
 * The settlement of `rejected`: the info becomes properties (semantics L18); the reason and the description are among
 * them, or else those of the error (semantics L19).
 */
function deadLetter(error: Extract<Outcome, { kind: 'rejected' }>['error']): SettlementAction {
  const { properties } = toProperties(error?.info);
  const { DeadLetterReason, DeadLetterErrorDescription, ...others } = properties;
  const isPlain = error === undefined || error.condition === DEAD_LETTER;
  const named = isPlain ? {} : { reason: error.condition, description: error.description };
  const reason = textIn(DeadLetterReason) ?? named.reason;
  const description = textIn(DeadLetterErrorDescription) ?? named.description;
  return {
    kind: 'deadLetter',
    ...present({ reason, description }),
    ...(Object.keys(others).length === 0 ? {} : { properties: others }),
  };
}

function textIn(property: Properties[string] | undefined): string | undefined {
  return property?.type === 'string' ? property.value : undefined;
}
