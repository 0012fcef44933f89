import type { WakeUp, WakeUps } from '../../broker/ports/wake-ups.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { logName } from '../schema/message-keys.ts';

/** The first look for messages of other processes, and the longest time between looks while none arrive. */
const POLL_MS = { first: 500, most: 2000 } as const;
const POLL_GROWTH = 1.2;

/**
 * Wakes a waiting receive of this process for each message that arrives in a log that it waits on (semantics #16):
 * those that wait longest, which then share a claim. One that got a message wakes the next one, since there may be
 * more. This process does not hear of messages that other processes send, so from time to time one waiting receive
 * looks for all.
 */
export class LocalWakeUps implements WakeUps {
  /** Each group under all of its logs. */
  readonly #groups = new Map<string, WaitingGroup>();
  readonly #scheduler: Scheduler;
  #isClosing = false;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
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

  /** Wakes all waiting receives, for example because the clock was moved. */
  wakeAll(): void {
    for (const group of new Set(this.#groups.values())) group.wakeAll();
  }

  wait(logs: readonly Log[], ms: number): WakeUp {
    const names = logs.map(logName);
    const [first = ''] = names;
    const group = this.#groups.get(first) ?? new WaitingGroup(this.#scheduler);
    for (const name of names) this.#groups.set(name, group);
    return new Waiter(group, ms, () => {
      const current = this.#groups.get(first);
      // The next receive may wait in a newer group for the same logs.
      if (!group.isEmpty || current !== group) return current;
      for (const name of names) this.#groups.delete(name);
      return undefined;
    });
  }
}

/** The receives that wait on the same logs, the longest wait first. */
class WaitingGroup {
  readonly scheduler: Scheduler;
  readonly #waiting = new Set<Waiter>();
  #pollMs: number = POLL_MS.first;
  #timer: Timer | undefined;

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** The longest time until one of them looks, ms. */
  get pollMs(): number {
    return this.#pollMs;
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    this.#timer ??= this.#nextPoll();
  }

  remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.isEmpty) this.#stop();
  }

  /** Wakes a receive for each message; the next look comes soon, since more messages may follow. */
  messagesArrived(count: number): void {
    this.#pollMs = POLL_MS.first;
    let left = count;
    for (const waiter of this.#waiting) {
      if (left-- <= 0) return;
      waiter.wake();
    }
  }

  wakeAll(): void {
    for (const waiter of [...this.#waiting]) waiter.wake();
  }

  #poll(): void {
    this.#stop();
    this.#pollMs = Math.min(POLL_MS.most, this.#pollMs * POLL_GROWTH);
    const [longest] = this.#waiting;
    longest?.wake();
    if (!this.isEmpty) this.#timer = this.#nextPoll();
  }

  #nextPoll(): Timer {
    return this.scheduler.after(this.#pollMs, () => this.#poll());
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** One waiting receive. */
class Waiter implements WakeUp {
  readonly done: Promise<void>;
  readonly #group: WaitingGroup;
  readonly #leave: () => WaitingGroup | undefined;
  readonly #deadline: Timer;
  #timer: Timer | undefined;
  #state: 'waiting' | 'woken' | 'over' = 'waiting';
  #resolve = () => {};

  /** `leave` is called when it needs no more wake-ups; it returns the group in which others wait. */
  constructor(group: WaitingGroup, ms: number, leave: () => WaitingGroup | undefined) {
    this.#group = group;
    this.#leave = leave;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#deadline = group.scheduler.after(ms, () => this.#end('over'));
    group.add(this);
  }

  wake(): void {
    this.#end('woken');
  }

  within(ms: number): void {
    if (this.#state !== 'waiting' || ms >= this.#group.pollMs) return;
    this.#timer = this.#group.scheduler.after(ms, () => this.wake());
  }

  foundNothing(): void {
    this.#end('over');
    this.#leave();
  }

  cancel(): void {
    const wasWoken = this.#state === 'woken';
    this.#end('over');
    const group = this.#leave();
    if (wasWoken) group?.messagesArrived(1);
  }

  #end(state: 'woken' | 'over'): void {
    if (this.#state === 'waiting') {
      this.#deadline.cancel();
      this.#timer?.cancel();
      this.#group.remove(this);
      this.#resolve();
    }
    this.#state = state;
  }
}
