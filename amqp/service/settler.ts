import type { Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import type { Properties } from '../../shared/domain/property-value.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { OutgoingDelivery, OutgoingLink } from '../endpoint/outgoing-link.ts';
import { guidText, swapGuid, toProperties } from '../messages/property-values.ts';
import type { DeliveryState, Outcome } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';
import { tell } from './conditions.ts';
import type { ClientContext } from './context.ts';

/** Settlements that go to the broker in one call. */
const GROUP_MAX = 1000;
/** So long, settlements that come in one after the other are waited for. */
const GATHER_MS = 10;
const REJECTED: Outcome = { kind: 'rejected' };
const DEAD_LETTER = 'com.microsoft:dead-letter';

interface Pending {
  readonly delivery: OutgoingDelivery;
  readonly state: Outcome;
  readonly action: SettlementAction;
  /** Called once the outcome is known. */
  readonly done: () => void;
}

/**
 * Settles what the peer has said the outcome of, and says so back. What arrives together goes to the
 * broker together, which needs one write a block for it; where much comes in a row, a little is waited.
 */
export class Settler {
  readonly #context: ClientContext;
  readonly #link: OutgoingLink;
  readonly #path: EntityPath;
  readonly #sessionId: string | undefined;
  #pending: Pending[] = [];
  #isRunning = false;
  #timer: Timer | undefined;
  /** Whether the last call had company: then it is likely that the next one has. */
  #isBusy = false;

  constructor(context: ClientContext, link: OutgoingLink, path: EntityPath, sessionId?: string) {
    this.#context = context;
    this.#link = link;
    this.#path = path;
    this.#sessionId = sessionId;
  }

  take(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
    // Settled without an outcome: the peer has forgotten the message, its lock will run out.
    if (state?.kind === 'transactional') this.#enlist(delivery, state);
    if (state === undefined || !isOutcome(state)) return;
    const action = actionOf(state);
    const settlement = new Promise<void>((done) => {
      this.#pending.push({ delivery, state, action, done });
    });
    this.#context.settlements.add(this.#path, settlement);
    this.#context.background(() => settlement);
    if (this.#isRunning) return;
    // Who has nothing left to settle waits for us.
    if (!this.#isBusy || this.#link.held === 0) this.#start();
    else this.#timer ??= this.#context.parts.scheduler.after(GATHER_MS, () => this.#start());
  }

  #start(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isRunning = true;
    const { background, parts } = this.#context;
    parts.scheduler.soon(() => background(() => this.#run()));
  }

  /** A settlement of a transaction is carried out when that is discharged; the lock stays until then. */
  #enlist(
    delivery: OutgoingDelivery,
    { transaction, outcome }: Extract<DeliveryState, { readonly kind: 'transactional' }>,
  ): void {
    if (outcome === undefined) return;
    const settlement = { lockToken: lockTokenOf(delivery.tag), action: actionOf(outcome) };
    const path = this.#path;
    const sessionId = this.#sessionId === undefined ? {} : { sessionId: this.#sessionId };
    const said = confirmed(outcome);
    try {
      const operation = { kind: 'settle', path, settlement, ...sessionId } as const;
      const onCommit = () => this.#link.settle([delivery], said);
      this.#context.transactions.add(transaction, operation, { onCommit });
      this.#link.note(delivery, { kind: 'transactional', transaction, outcome: said });
    } catch (error) {
      this.#link.note(delivery, this.#rejected(error));
    }
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0, GROUP_MAX);
      this.#isBusy = group.length > 1;
      await this.#settle(group);
      for (const { done } of group) done();
    }
    this.#isRunning = false;
  }

  async #settle(group: readonly Pending[]): Promise<void> {
    const settlements: Settlement[] = group.map(({ delivery: { tag }, action }) => ({
      lockToken: lockTokenOf(tag),
      action,
    }));
    const { broker } = this.#context.parts;
    try {
      const outcomes = await broker.settle(this.#path, settlements, this.#sessionId);
      const states = group.map(({ state }, i) => {
        const refusal = outcomes[i]?.refusal;
        return refusal === undefined ? confirmed(state) : this.#rejected(refusal);
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
    const { condition, description } = tell(this.#context.parts, error, this.#path.name);
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
  }
}

function isOutcome(state: DeliveryState): state is Outcome {
  return ['accepted', 'released', 'rejected', 'modified'].includes(state.kind);
}

/** The outcome as we say it back. An error in it would be one of ours. */
function confirmed(state: Outcome): Outcome {
  return state.kind === 'rejected' ? REJECTED : state;
}

function isSame(one: Outcome, other: Outcome | undefined): boolean {
  return one === other || (one.kind === 'accepted' && other?.kind === 'accepted');
}

/** The token of the lock under which a message went out: its delivery tag, as .NET orders it. */
export function lockTokenOf(tag: Uint8Array): string {
  return guidText(swapGuid(tag));
}

/** What an outcome asks for (semantics §15.4). */
function actionOf(state: Outcome): SettlementAction {
  switch (state.kind) {
    case 'accepted':
      return { kind: 'complete' };
    case 'released':
      return { kind: 'abandon' };
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
  const said = isPlain ? {} : { reason: error.condition, description: error.description };
  const reason = textIn(DeadLetterReason) ?? said.reason;
  const description = textIn(DeadLetterErrorDescription) ?? said.description;
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
