import type { WakeUp, WakeUps } from '../../broker/ports/wake-ups.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import { logName } from '../schema/message-keys.ts';
import type { HeaderWatch } from './header-watch.ts';
import { Waiter, WaitingGroup } from './waiting-group.ts';

/**
 * Wakes a waiting receive of this process for each message that arrives in a log that it waits on (semantics #16):
 * those that wait longest, which then share a claim. One that got a message wakes the next one, since there may be
 * more. This process does not hear of messages that other processes send, so from time to time one waiting receive
 * looks for all. While a log stays empty, the header of its partition is watched instead, which costs a fraction.
 */
export class LocalWakeUps implements WakeUps {
  /** Each group under all of its logs. */
  readonly #groups = new Map<string, WaitingGroup>();
  readonly #scheduler: Scheduler;
  readonly #headers: Pick<HeaderWatch, 'watch'> | undefined;
  #isClosing = false;

  /** `headers` watches headers of partitions; absent = waiting receives look for themselves. */
  constructor(scheduler: Scheduler, headers?: Pick<HeaderWatch, 'watch'>) {
    this.#scheduler = scheduler;
    this.#headers = headers;
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

  /** Notes that this process has changed a queue, or a topic or its subscriptions, with this key. */
  entityChanged(key: string): void {
    for (const group of new Set(this.#groups.values())) {
      if (group.isOf(key)) group.lookSoon();
    }
  }

  wait(logs: readonly Log[], ms: number): WakeUp {
    const names = logs.map(logName);
    const [first = ''] = names;
    const group = this.#groups.get(first) ?? new WaitingGroup(this.#scheduler, logs, this.#headers);
    for (const name of names) this.#groups.set(name, group);
    return new Waiter(group, ms, () => {
      const current = this.#groups.get(first);
      // The next receive may wait in a newer group for the same logs.
      if (!group.isEmpty || current !== group) return current;
      for (const name of names) this.#groups.delete(name);
      group.end();
      return undefined;
    });
  }
}
