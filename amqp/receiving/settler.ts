import type { Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { OutgoingDelivery, OutgoingLink } from '../endpoint/outgoing-link.ts';
import { guidText, swapGuid, toProperties } from '../messages/property-values.ts';
import type { ClientContext } from '../service/context.ts';
import { connectionMemoryExceeded, mapError } from '../service/error-mapping.ts';
import { actionBytes } from '../transactions/operations.ts';
import type { DeliveryState, Outcome } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';

/** Settlements that go to the broker in one call. */
const GROUP_MAX = 1000;
/** So long, settlements that come in one after the other are waited for. */
const GATHER_MS = 10;
const REJECTED: Outcome = { kind: 'rejected' };
const { settlementBytes: SETTLEMENT_BYTES } = BUDGETS.weights;
const DEAD_LETTER = 'com.microsoft:dead-letter';

/** An outcome that the peer said, of one delivery or of thousands by one frame. */
interface RequestedOutcome {
  /** What it asks for. */
  readonly action: SettlementAction;
  /** How it is said back. */
  readonly confirmation: Outcome;
  /** What it takes, bytes. */
  readonly bytes: number;
  /** Deliveries with this outcome that the broker has not answered for. */
  pending: number;
}

interface Pending {
  readonly delivery: OutgoingDelivery;
  readonly requested: RequestedOutcome;
}

/** What goes to the broker in one call: each delivery by itself would take several times the memory. */
interface Group {
  readonly pending: Pending[];
  /** Called once the outcomes are known. */
  readonly done: () => void;
}

/** The entity whose messages are settled, by its address and path. */
export interface SettledEntity {
  readonly pathname: string;
  readonly path: EntityPath;
}

/**
 * Settles what the peer has said the outcome of, and says so back. What arrives together goes to the
 * broker together, which needs one write a block for it; where much comes in a row, a little is waited.
 */
export class Settler {
  readonly #context: ClientContext;
  readonly #link: OutgoingLink;
  readonly #path: EntityPath;
  readonly #pathname: string;
  readonly #sessionId: string | undefined;
  /** What outcomes ask for: read once each, however many deliveries have them. */
  readonly #requested = new WeakMap<Outcome, RequestedOutcome>();
  readonly #groups: Group[] = [];
  #isRunning = false;
  #timer: Timer | undefined;
  /** Whether the last call had company: then it is likely that the next one has. */
  #isBusy = false;

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

  add(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
    // Settled without an outcome: the peer has forgotten the message, its lock will run out.
    if (state?.kind === 'transactional') this.#enlist(delivery, state);
    if (state === undefined || !isOutcome(state)) return;
    const requested = this.#requestOf(state);
    if (!this.#hold(requested)) {
      // Its answer is a frame by itself.
      this.#context.limits.countFrame();
      this.#link.settle([delivery], this.#rejected(connectionMemoryExceeded()));
      return;
    }
    this.#lastGroup().push({ delivery, requested: requested });
    if (this.#isRunning) return;
    // Who has nothing left to settle waits for us.
    if (!this.#isBusy || this.#link.unsettledCount === 0) this.#start();
    else this.#timer ??= this.#context.dependencies.scheduler.after(GATHER_MS, () => this.#start());
  }

  /** The group that takes one more. */
  #lastGroup(): Pending[] {
    const last = this.#groups.at(-1);
    if (last !== undefined && last.pending.length < GROUP_MAX) return last.pending;
    const pending: Pending[] = [];
    const settlement = new Promise<void>((done) => this.#groups.push({ pending, done }));
    this.#context.settlements.add(this.#path, settlement);
    this.#context.background(() => settlement);
    return pending;
  }

  #requestOf(state: Outcome): RequestedOutcome {
    const known = this.#requested.get(state);
    if (known !== undefined) return known;
    const action = actionOf(state);
    const requested = {
      action,
      confirmation: confirmationOf(state),
      bytes: actionBytes(action),
      pending: 0,
    };
    this.#requested.set(state, requested);
    return requested;
  }

  /** Holds what a settlement takes until the broker has answered; false where there is no room. */
  #hold(requested: RequestedOutcome): boolean {
    const bytes = SETTLEMENT_BYTES + (requested.pending === 0 ? requested.bytes : 0);
    if (!this.#context.limits.tryHoldWork(bytes)) return false;
    requested.pending++;
    return true;
  }

  #release(requested: RequestedOutcome): void {
    requested.pending--;
    this.#context.limits.releaseWork(
      SETTLEMENT_BYTES + (requested.pending === 0 ? requested.bytes : 0),
    );
  }

  #start(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isRunning = true;
    const { background, dependencies } = this.#context;
    dependencies.scheduler.soon(() => background(() => this.#run()));
  }

  /** A settlement of a transaction is carried out when that is discharged; the lock stays until then. */
  #enlist(
    delivery: OutgoingDelivery,
    { transaction, outcome }: Extract<DeliveryState, { readonly kind: 'transactional' }>,
  ): void {
    if (outcome === undefined) return;
    // It is answered by itself: a disposition of thousands is as much work as thousands of frames.
    this.#context.limits.countFrame();
    const { action, confirmation } = this.#requestOf(outcome);
    const settlement = { lockToken: lockTokenOf(delivery.tag), action };
    const path = this.#path;
    const sessionId = this.#sessionId === undefined ? {} : { sessionId: this.#sessionId };
    try {
      const operation = { kind: 'settle', path, settlement, ...sessionId } as const;
      const onCommit = () => this.#link.settle([delivery], confirmation);
      const need = { pathname: this.#pathname, path, right: 'Listen' } as const;
      const enlistment = this.#context.transactions.enlist(transaction);
      enlistment.add(operation, need, onCommit);
      enlistment.end();
      this.#link.reportState(delivery, {
        kind: 'transactional',
        transaction,
        outcome: confirmation,
      });
    } catch (error) {
      this.#link.reportState(delivery, this.#rejected(error));
    }
  }

  async #run(): Promise<void> {
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      const { pending, done } = group;
      this.#isBusy = pending.length > 1;
      await this.#context.settlements.runLimited(pending.length, () => this.#settle(pending));
      for (const { requested } of pending) this.#release(requested);
      done();
    }
    this.#isRunning = false;
  }

  async #settle(group: readonly Pending[]): Promise<void> {
    const settlements: Settlement[] = group.map(({ delivery: { tag }, requested: { action } }) => ({
      lockToken: lockTokenOf(tag),
      action,
    }));
    const { authorization, dependencies } = this.#context;
    const { broker } = dependencies;
    try {
      // The right may have ended since the messages were handed out.
      await authorization.confirm(this.#pathname, this.#path, ['Listen']);
      const outcomes = await broker.settle(this.#path, settlements, this.#sessionId);
      const states = group.map(({ requested }, i) => {
        const refusal = outcomes[i]?.refusal;
        return refusal === undefined ? requested.confirmation : this.#rejected(refusal);
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
    const { condition, description } = mapError(this.#context.dependencies, error, this.#path.name);
    return { kind: 'rejected', error: { condition, description } };
  }

  /** Neighbours with the same outcome share a frame. */
  #answer(group: readonly Pending[], states: readonly Outcome[]): void {
    let from = 0;
    for (let i = 1; i <= group.length; i++) {
      const before = states[i - 1];
      if (before === undefined || (i < group.length && isSame(before, states[i]))) continue;
      this.#link.settle(
        group.slice(from, i).map(({ delivery }) => delivery),
        before,
      );
      from = i;
    }
    this.#context.sendNow();
  }
}

function isOutcome(state: DeliveryState): state is Outcome {
  return ['accepted', 'released', 'rejected', 'modified'].includes(state.kind);
}

/**
 * The outcome as we say it back. An error in it would be one of ours, and to repeat annotations would
 * only have them held, and sent, once more.
 */
function confirmationOf(state: Outcome): Outcome {
  if (state.kind === 'rejected') return REJECTED;
  if (state.kind !== 'modified') return state;
  const { annotations, ...rest } = state;
  return rest;
}

function isSame(one: Outcome, other: Outcome | undefined): boolean {
  return one === other || (one.kind === 'accepted' && other?.kind === 'accepted');
}

/** The token of the lock under which a message went out: its delivery tag, as .NET orders it. */
export function lockTokenOf(tag: Uint8Array): string {
  return guidText(swapGuid(tag));
}

/** What an outcome asks for (semantics L17). */
function actionOf(state: Outcome): SettlementAction {
  switch (state.kind) {
    case 'accepted':
      return { kind: 'complete' };
    case 'released':
      return { kind: 'abandon', isUncounted: true };
    case 'modified': {
      const kind = state.undeliverableHere === true ? 'defer' : 'abandon';
      return { kind, ...changed(state.annotations) };
    }
    case 'rejected':
      return deadLetter(state.error);
  }
}

function deadLetter(error: Extract<Outcome, { kind: 'rejected' }>['error']): SettlementAction {
  const { properties } = toProperties(error?.info);
  const { DeadLetterReason, DeadLetterErrorDescription, ...others } = properties;
  const isPlain = error === undefined || error.condition === DEAD_LETTER;
  const named = isPlain ? {} : { reason: error.condition, description: error.description };
  const reason = textIn(DeadLetterReason) ?? named.reason;
  const description = textIn(DeadLetterErrorDescription) ?? named.description;
  return {
    kind: 'deadLetter',
    ...(reason === undefined ? {} : { reason }),
    ...(description === undefined ? {} : { description }),
    ...(Object.keys(others).length === 0 ? {} : { properties: others }),
  };
}

function textIn(property: Properties[string] | undefined): string | undefined {
  return property?.type === 'string' ? property.value : undefined;
}

function changed(annotations: AmqpValue | undefined): { readonly properties?: Properties } {
  const { properties } = toProperties(annotations);
  return Object.keys(properties).length === 0 ? {} : { properties };
}
