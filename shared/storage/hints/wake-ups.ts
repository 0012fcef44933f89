import type { WakeUp, WakeUps } from '../../broker/ports/wake-ups.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import { logName } from '../schema/message-keys.ts';
import { Waiter, WaitingGroup, type WaitSignals } from './waiting-group.ts';

/** The stream of the messages table, as waiting receives use it. */
export interface WaitedStream {
  /** Since when all records reach this process within moments, monotonic ms; Infinity = they do not now. */
  readonly coveredSince: number;
  /** Has the stream read until the returned function is called. */
  attend(): () => void;
}

/**
 * Wakes a waiting receive of this process for each message that arrives in a log that it waits on (semantics #16):
 * those that wait longest, which then share a claim. One that got a message wakes the next one, since there may be
 * more. This process does not hear of messages that other processes send, so from time to time one waiting receive
 * looks for all. While a log stays empty, the header of its partition is watched instead, which costs a fraction. With
 * a stream, a process does hear of them, and looks only in case the stream lost a record (docs/decisions/0036).
 */
export class LocalWakeUps implements WakeUps {
  /** Each group under all of its logs. */
  readonly #groups = new Map<string, WaitingGroup>();
  readonly #scheduler: Scheduler;
  readonly #signals: WaitSignals & { readonly stream?: WaitedStream | undefined };
  /** Ends the reading of the stream; undefined = nobody waits, or there is no stream. */
  #leaveStream: (() => void) | undefined;
  #isClosing = false;

  constructor(
    scheduler: Scheduler,
    signals: WaitSignals & { readonly stream?: WaitedStream | undefined } = {},
  ) {
    this.#scheduler = scheduler;
    this.#signals = signals;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Ends all waits, now and from now on. */
  close(): void {
    this.#isClosing = true;
    this.wakeAll();
  }

  /** Notes that up to `messages` messages may have arrived in the log with this name. */
  wake(log: string, messages: number): void {
    this.#groups.get(log)?.messagesArrived(messages);
  }

  /** Whether receives wait on the log with this name. */
  isAwaited(log: string): boolean {
    return this.#groups.has(log);
  }

  /** Lets a receive that waits on the log with this name look after `ms`, if none looks earlier anyway. */
  expectChange(log: string, ms: number): void {
    this.#groups.get(log)?.expectChange(ms);
  }

  /** The same for all that wait on logs of some partitions: `changes` = ms by the header of the partition. */
  expectDue(changes: ReadonlyMap<string, number>): void {
    this.#under(changes, (group, ms) => group.expectChange(ms));
  }

  /** Lets all look as often as without a stream. */
  streamLapsed(): void {
    for (const group of new Set(this.#groups.values())) group.streamLapsed();
  }

  #under(
    headers: ReadonlyMap<string, number>,
    tell: (group: WaitingGroup, ms: number) => void,
  ): void {
    if (headers.size === 0) return;
    for (const group of new Set(this.#groups.values())) {
      const told = group.headers.flatMap((header) => headers.get(header) ?? []);
      if (told.length > 0) tell(group, Math.min(...told));
    }
  }

  /** Wakes all waiting receives, for example because the clock was moved. */
  wakeAll(): void {
    for (const group of new Set(this.#groups.values())) group.wakeAll();
  }

  /** Notes that this process has changed a queue, or a topic or its subscriptions, with this key. */
  entityChanged(key: string): void {
    for (const group of new Set(this.#groups.values())) {
      if (group.isOf(key)) group.lookSoon();
    }
  }

  wait(logs: readonly Log[], ms: number): WakeUp {
    const names = logs.map(logName);
    const [first = ''] = names;
    const group = this.#groups.get(first) ?? new WaitingGroup(this.#scheduler, logs, this.#signals);
    for (const name of names) this.#groups.set(name, group);
    this.#leaveStream ??= this.#signals.stream?.attend();
    return new Waiter(group, ms, () => {
      const current = this.#groups.get(first);
      // The next receive may wait in a newer group for the same logs.
      if (!group.isEmpty || current !== group) return current;
      for (const name of names) this.#groups.delete(name);
      group.end();
      if (this.#groups.size === 0) {
        this.#leaveStream?.();
        this.#leaveStream = undefined;
      }
      return undefined;
    });
  }
}
