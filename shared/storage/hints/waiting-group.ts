import type { WakeUp } from '../../broker/ports/wake-ups.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { splitSubscriptionKey } from '../schema/entity-keys.ts';
import { headerKey } from '../schema/message-keys.ts';
import type { HeaderWatch, WatchedHeaders } from './header-watch.ts';

/** The first look for messages of other processes, and the longest time between looks while none arrive. */
const POLL_MS = { first: 500, most: 2000 } as const;
const POLL_GROWTH = 1.2;
/** Once receives have waited for the same empty log for so long without a break, ms, they look less often. */
const CALM_AFTER_MS = 60_000;
/**
 * The time between two looks then, ms: in the main log, whose header is watched meanwhile, and in another sub-queue,
 * in which messages arrive without a change of a header.
 */
const CALM_POLL_MS = { watched: 30_000, unwatched: 10_000 } as const;
/**
 * How long a header must not have changed before a look that finds its log empty counts, ms: a sender changes the
 * header first, and then stores its messages.
 */
const SETTLED_MS = 10_000;

/** The receives that wait on the same logs, the longest wait first. */
export class WaitingGroup {
  readonly scheduler: Scheduler;
  readonly #waiting = new Set<Waiter>();
  readonly #logs: readonly Log[];
  readonly #headers: Pick<HeaderWatch, 'watch'> | undefined;
  readonly #beganAt: number;
  #watched: WatchedHeaders | undefined;
  /** When the last look began, if it saw no message at all, monotonic ms. */
  #emptyAt: number | undefined;
  #pollMs: number = POLL_MS.first;
  #poll: TimedLook | undefined;
  /** For a message that becomes available by time alone. */
  #change: TimedLook | undefined;

  constructor(
    scheduler: Scheduler,
    logs: readonly Log[],
    headers: Pick<HeaderWatch, 'watch'> | undefined,
  ) {
    this.scheduler = scheduler;
    this.#logs = logs;
    this.#headers = headers;
    this.#beganAt = scheduler.now();
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Whether they wait for messages of the queue or topic with this key. */
  isOf(key: string): boolean {
    const { entityKey = '' } = this.#logs[0] ?? {};
    return entityKey === key || splitSubscriptionKey(entityKey)?.topic === key;
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    this.#schedule();
  }

  remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.isEmpty) this.#stop();
  }

  /** Ends the group, in which none waits any more. */
  end(): void {
    this.#watched?.end();
    this.#watched = undefined;
  }

  /** Wakes a receive for each message; the next look comes soon, since more messages may follow. */
  messagesArrived(count: number): void {
    this.#beginAnew();
    let left = count;
    for (const waiter of this.#waiting) {
      if (left-- <= 0) break;
      waiter.wake();
    }
    this.#schedule();
  }

  wakeAll(): void {
    for (const waiter of [...this.#waiting]) waiter.wake();
  }

  /** Lets one of them look now if it would look only after a long time. */
  lookSoon(): void {
    if (this.#intervalMs <= POLL_MS.most) return;
    this.#beginAnew();
    this.#wakeLongest();
    this.#schedule();
  }

  /** Lets one of them look after `ms` at the latest; `emptyAt` as for `WakeUp.within`. */
  lookWithin(ms: number, emptyAt: number | undefined): void {
    this.#emptyAt = emptyAt;
    if (ms < this.#intervalMs) {
      const change = () => {
        this.#change = undefined;
        this.#wakeLongest();
      };
      this.#change = this.#sooner(this.#change, ms, change);
    }
    this.#schedule();
  }

  /** The time until one of them looks, ms. */
  get #intervalMs(): number {
    const isCalm = this.#isOld && this.#emptyAt !== undefined && this.#pollMs === POLL_MS.most;
    if (!isCalm) return this.#pollMs;
    if (!this.#areWatchable) return CALM_POLL_MS.unwatched;
    const settledAt = (this.#watched?.unchangedSince ?? Infinity) + SETTLED_MS;
    return (this.#emptyAt ?? 0) >= settledAt ? CALM_POLL_MS.watched : this.#pollMs;
  }

  get #isOld(): boolean {
    return this.scheduler.now() - this.#beganAt >= CALM_AFTER_MS;
  }

  get #areWatchable(): boolean {
    return this.#logs.every(({ subQueue }) => subQueue === 'main');
  }

  #beginAnew(): void {
    this.#pollMs = POLL_MS.first;
    this.#emptyAt = undefined;
  }

  /** Sets the timer of the next look, unless there is one that is early enough. */
  #schedule(): void {
    if (this.isEmpty) return;
    const leftMs = (this.#poll?.at ?? Infinity) - this.scheduler.now();
    const ms = this.#intervalMs;
    if (leftMs <= Math.max(ms, POLL_MS.most)) return;
    this.#poll = this.#sooner(this.#poll, ms, () => this.#pollNow());
  }

  #pollNow(): void {
    this.#poll = undefined;
    this.#pollMs = Math.min(POLL_MS.most, this.#pollMs * POLL_GROWTH);
    if (this.#isOld && this.#areWatchable) {
      this.#watched ??= this.#headers?.watch(headersOf(this.#logs), () => this.#hearNews());
    }
    this.#wakeLongest();
    this.#schedule();
  }

  #hearNews(): void {
    this.#beginAnew();
    this.#wakeLongest();
    this.#schedule();
  }

  #wakeLongest(): void {
    const [longest] = this.#waiting;
    longest?.wake();
  }

  /** The earlier of a timer and a new one. */
  #sooner(current: TimedLook | undefined, ms: number, look: () => void): TimedLook {
    const at = this.scheduler.now() + ms;
    if (current !== undefined && current.at <= at) return current;
    current?.timer.cancel();
    return { at, timer: this.scheduler.after(ms, look) };
  }

  #stop(): void {
    this.#poll?.timer.cancel();
    this.#change?.timer.cancel();
    this.#poll = undefined;
    this.#change = undefined;
  }
}

/** A look at an instant, monotonic ms. */
interface TimedLook {
  readonly at: number;
  readonly timer: Timer;
}

/** The headers that a send to one of the logs changes. */
function headersOf(logs: readonly Log[]): readonly string[] {
  return logs.map(({ headerEntityId, partition }) => headerKey(headerEntityId, partition).pk);
}

/** One waiting receive. */
export class Waiter implements WakeUp {
  readonly done: Promise<void>;
  readonly #group: WaitingGroup;
  readonly #leave: () => WaitingGroup | undefined;
  readonly #deadline: Timer;
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

  within(ms: number, emptyAt?: number): void {
    if (this.#state === 'waiting') this.#group.lookWithin(ms, emptyAt);
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
      this.#group.remove(this);
      this.#resolve();
    }
    this.#state = state;
  }
}
