import type { Heard } from '../engine/process.ts';
import type { Action, Step } from '../scenario/scenario.ts';
import { isDeadLetterPath } from '../scenario/scenario.ts';
import type { Actor, ClientParts } from './actor.ts';
import { OPERATIONS } from './operation-table.ts';
import type { ActionOf, Answer } from './operations.ts';
import { Hands } from './pool.ts';
import type { Details, OperationRecord } from './record.ts';

/** A client that does one step after the other, and remembers what it was handed. */
export class Client implements Actor {
  readonly name: string;
  readonly hands = new Hands();
  readonly parts: ClientParts;

  constructor(name: string, parts: ClientParts) {
    this.name = name;
    this.parts = parts;
  }

  /** Carries out its steps; `start` = when the run began. */
  async run(steps: readonly Step[], start: number): Promise<void> {
    const { timeline } = this.parts.world;
    for (const step of steps) {
      const wait = start + step.at - timeline.now;
      if (wait > 0) await timeline.pause(wait);
      await this.carryOut(step.action, step.process);
    }
  }

  /** Carries out one action. Nothing where there is nothing to do it with. */
  async carryOut(action: Action, process: string): Promise<OperationRecord | undefined> {
    if (await this.#needsSession(action, process)) return undefined;
    return await this.#operate(action, process);
  }

  /** Accepts a session first where messages can only be received in one. True = there is none to be had. */
  async #needsSession(action: Action, process: string): Promise<boolean> {
    if (action.kind !== 'receive' || isDeadLetterPath(action.from)) return false;
    if (!this.parts.world.requiresSession(action.from)) return false;
    if (this.hands.session(action.from) !== undefined) return false;
    await this.#operate({ kind: 'accept', from: action.from, waitMs: action.waitMs }, process);
    return this.hands.session(action.from) === undefined;
  }

  async #operate<Kind extends Action['kind']>(
    action: ActionOf<Kind>,
    processName: string,
  ): Promise<OperationRecord | undefined> {
    const { world, number } = this.parts;
    const operation = OPERATIONS[action.kind as Kind];
    const prepared = operation(this, action);
    if (prepared === undefined) return undefined;
    const process = world.process(processName);
    const start = world.timeline.now;
    const startClock = process.clockNow();
    const { wrongs } = process;
    const order = number();
    world.trace?.(this.name, `${process.spec.name} <- ${describe(action)}`);
    const heard: Heard<Answer> = await process.call((composition) => prepared.ask(composition));
    const record: OperationRecord = {
      number: order,
      client: this.name,
      process: process.spec.name,
      action,
      start,
      end: world.timeline.now,
      startClock,
      endClock: process.clockNow(),
      wentWrong: process.wrongs > wrongs,
      ...heardOf(heard),
      ...prepared.note(heard),
    };
    this.parts.record(record);
    world.trace?.(this.name, `${process.spec.name} -> ${describeHeard(record)}`);
    return record;
  }
}

function heardOf(heard: Heard<Details>): Pick<OperationRecord, 'heard' | 'code' | 'text'> {
  switch (heard.kind) {
    case 'done':
      return { heard: 'done' };
    case 'refused':
      return { heard: 'refused', code: heard.error.code, text: heard.error.message };
    case 'unknown':
      return { heard: 'unknown', code: heard.why };
    case 'failed': {
      const { error } = heard;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { heard: 'failed', text };
    }
  }
}

/** An action as histories show it. */
export function describe(action: Action): string {
  const { kind, ...rest } = action;
  return `${kind} ${JSON.stringify(rest)}`;
}

/** What a client heard, as histories show it. */
export function describeHeard(record: OperationRecord): string {
  const parts = [record.heard, record.code, record.heard === 'refused' ? record.text : undefined];
  const deliveries = record.deliveries?.map(
    ({ tag, failedDeliveries, lockedUntil }) =>
      `${tag} (#${failedDeliveries + 1}${lockedUntil === undefined ? '' : ` until ${lockedUntil % 1e7}`})`,
  );
  const settled = record.settled?.map(
    ({ delivery, how, outcome, code }) => `${how} ${delivery.tag} ${outcome} ${code ?? ''}`,
  );
  return [
    ...parts,
    ...(deliveries === undefined ? [] : [`[${deliveries.join(', ')}]`]),
    ...(settled === undefined ? [] : [`[${settled.join(', ')}]`]),
    record.granted === undefined ? undefined : `session ${record.granted.sessionId}`,
    record.removed,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}
