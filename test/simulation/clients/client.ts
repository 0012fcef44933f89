import type { Result } from '../machines/process.ts';
import type { Action, Step } from '../scenario/scenario.ts';
import { isDeadLetterPath } from '../scenario/scenario.ts';
import type { Actor, ClientContext } from './actor.ts';
import { attempt } from './attempts.ts';
import { ClientLocks } from './client-state.ts';
import { OPERATIONS } from './operation-table.ts';
import type { ActionOf } from './operations.ts';
import type { Details, OperationRecord } from './record.ts';

/** A client that performs its steps one after the other, and keeps the locks it gets. */
export class Client implements Actor {
  readonly name: string;
  readonly locks = new ClientLocks();
  readonly context: ClientContext;

  constructor(name: string, context: ClientContext) {
    this.name = name;
    this.context = context;
  }

  /** Performs its steps; `start` is the beginning of the run, epoch ms. */
  async run(steps: readonly Step[], start: number): Promise<void> {
    const { timeline } = this.context.world;
    for (const step of steps) {
      const wait = start + step.at - timeline.now;
      if (wait > 0) await timeline.pause(wait);
      await this.perform(step.action, step.process);
    }
  }

  /** Performs one action. Returns undefined if the client has nothing to perform it on. */
  async perform(action: Action, process: string): Promise<OperationRecord | undefined> {
    if (await this.#needsSession(action, process)) return undefined;
    return await this.#operate(action, process);
  }

  /** Accepts a session before a receive that requires one. Returns true if it got no session. */
  async #needsSession(action: Action, process: string): Promise<boolean> {
    if (action.kind !== 'receive' || isDeadLetterPath(action.from)) return false;
    if (!this.context.world.requiresSession(action.from)) return false;
    if (this.locks.session(action.from) !== undefined) return false;
    await this.#operate({ kind: 'accept', from: action.from, waitMs: action.waitMs }, process);
    return this.locks.session(action.from) === undefined;
  }

  async #operate<Kind extends Action['kind']>(
    action: ActionOf<Kind>,
    processName: string,
  ): Promise<OperationRecord | undefined> {
    const { world, number } = this.context;
    const operation = OPERATIONS[action.kind as Kind];
    const prepared = operation(this, action);
    if (prepared === undefined) return undefined;
    const first = world.process(processName);
    const repeats = 'repeats' in action ? (action.repeats ?? []) : [];
    const start = world.timeline.now;
    const startClock = first.clockNow();
    const order = number();
    world.trace?.(this.name, `${first.spec.name} <- ${describe(action)}`);
    const { result, process, hadFaults } = await attempt(world, first, prepared.run, repeats);
    const record: OperationRecord = {
      number: order,
      client: this.name,
      process: process.spec.name,
      action,
      start,
      end: world.timeline.now,
      startClock,
      endClock: process.clockNow(),
      hadFaults,
      ...outcomeOf(result),
      ...prepared.record(result),
    };
    this.context.record(record);
    world.trace?.(this.name, `${process.spec.name} -> ${describeOutcome(record)}`);
    return record;
  }
}

function outcomeOf(result: Result<Details>): Pick<OperationRecord, 'outcome' | 'code' | 'text'> {
  switch (result.kind) {
    case 'done':
      return { outcome: 'done' };
    case 'refused':
      return { outcome: 'refused', code: result.error.code, text: result.error.message };
    case 'unknown':
      return { outcome: 'unknown', code: result.why };
    case 'failed': {
      const { error } = result;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { outcome: 'failed', text };
    }
  }
}

/** An action as histories show it. */
export function describe(action: Action): string {
  const { kind, ...rest } = action;
  return `${kind} ${JSON.stringify(rest)}`;
}

/** The outcome of an operation, as histories show it. */
export function describeOutcome(record: OperationRecord): string {
  const { outcome, code, text } = record;
  const deliveries = record.deliveries?.map(
    ({ tag, failedDeliveries, lockedUntil }) =>
      `${tag} (#${failedDeliveries + 1}${lockedUntil === undefined ? '' : ` until ${lockedUntil % 1e7}`})`,
  );
  const settled = record.settled?.map(
    ({ delivery, how, outcome, code }) => `${how} ${delivery.tag} ${outcome} ${code ?? ''}`,
  );
  return [
    ...[outcome, code, outcome === 'refused' ? text : undefined],
    ...(deliveries === undefined ? [] : [`[${deliveries.join(', ')}]`]),
    ...(settled === undefined ? [] : [`[${settled.join(', ')}]`]),
    record.granted === undefined ? undefined : `session ${record.granted.sessionId}`,
    record.removed,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}
