/** Where a copy of a message can be. */
export const PLACES = [
  'all',
  'red',
  'end',
  'deadOfAll',
  'deadOfEnd',
  'transfersOfMiddle',
  'transfersOfRed',
] as const;
export type Place = (typeof PLACES)[number];
/** Places from which messages are received under a lock. */
export type LivePlace = 'all' | 'red' | 'end';
/** Transfer dead-letter queues, where messages wait for a resubmission. */
export type TransferPlace = 'transfersOfMiddle' | 'transfersOfRed';

export const STATUSES = ['Active', 'SendDisabled', 'ReceiveDisabled', 'Disabled'] as const;
export type Status = (typeof STATUSES)[number];

/** The properties of a message to send. */
export interface Draft {
  readonly color: 'red' | 'blue';
  readonly size: number;
}

interface Copy {
  readonly body: string;
  /** The position in the order of its place; a copy that moves on gets a new, higher one. */
  number: number;
  place: Place | 'gone';
  lock: { readonly until: number } | undefined;
}

/** A copy that was received under a lock. */
export interface Held {
  readonly place: LivePlace;
  readonly copy: Copy;
  readonly lock: Copy['lock'];
  readonly lockToken: string;
}

/** The length of all locks, ms. */
export const LOCK_MS = 30_000;

/**
 * A topic with three subscriptions. `all` gets every message. `red` gets red ones, and forwards its dead
 * letters to the queue `end`. `big` gets messages with a size over 5 and forwards them to the queue `middle`,
 * which forwards them to `end`. While `end` accepts no sends, a copy waits at the last entity before it.
 */
export class TopicModel {
  now: number;
  status: Status = 'Active';
  readonly held: Held[] = [];
  readonly history: string[] = [];
  readonly #copies: Copy[] = [];
  #sent = 0;
  #numbers = 0;

  constructor(now: number) {
    this.now = now;
  }

  get endAcceptsSends(): boolean {
    return this.status === 'Active' || this.status === 'ReceiveDisabled';
  }

  /** Whether messages can be received at a place. */
  canReceive(place: Place): boolean {
    const isAtEnd = place === 'end' || place === 'deadOfEnd';
    return !isAtEnd || this.status === 'Active' || this.status === 'SendDisabled';
  }

  /** Adds a copy for each matching subscription; returns the bodies. */
  send(drafts: readonly Draft[]): readonly string[] {
    return drafts.map(({ color, size }) => {
      const body = `m${this.#sent++}`;
      this.#add(body, 'all');
      if (color === 'red') this.#add(body, 'red');
      if (size > 5) this.#add(body, this.endAcceptsSends ? 'end' : 'transfersOfMiddle');
      return body;
    });
  }

  /** The copies at a place, in order. */
  at(place: Place): readonly Copy[] {
    return this.#copies
      .filter((copy) => copy.place === place)
      .toSorted((a, b) => a.number - b.number);
  }

  /** The copies at a place that are not locked, in order. */
  free(place: Place): readonly Copy[] {
    return this.at(place).filter(({ lock }) => lock === undefined || lock.until <= this.now);
  }

  receive(place: LivePlace, copies: readonly Copy[], lockTokens: readonly string[]): void {
    for (const [i, copy] of copies.entries()) {
      const lock = { until: this.now + LOCK_MS };
      copy.lock = lock;
      this.held.push({ place, copy, lock, lockToken: lockTokens[i] ?? '' });
    }
  }

  /** Settles a copy if its lock is live; returns whether it was. */
  settle(held: Held, outcome: 'complete' | 'abandon' | 'deadLetter'): boolean {
    this.held.splice(this.held.indexOf(held), 1);
    const { copy, lock } = held;
    if (lock === undefined || copy.lock !== lock || lock.until <= this.now) return false;
    copy.lock = undefined;
    if (outcome === 'complete') copy.place = 'gone';
    if (outcome === 'deadLetter') this.#deadLetter(copy);
    return true;
  }

  #deadLetter(copy: Copy): void {
    if (copy.place === 'all') copy.place = 'deadOfAll';
    else if (copy.place === 'end') copy.place = 'deadOfEnd';
    else if (this.endAcceptsSends) this.#move(copy, 'end');
    else copy.place = 'transfersOfRed';
  }

  /** Removes all copies at a place. */
  clear(place: Place): void {
    for (const copy of this.at(place)) copy.place = 'gone';
  }

  /** Sends copies that could not be forwarded again to their entity; `middle` forwards them to `end`. */
  resubmit(place: TransferPlace): void {
    for (const copy of this.at(place)) this.#move(copy, place === 'transfersOfRed' ? 'red' : 'end');
  }

  /** Changes the status of `end`; the update ends all locks on its messages. */
  update(status: Status): void {
    this.status = status;
    for (const copy of this.at('end')) copy.lock = undefined;
  }

  #add(body: string, place: Place): void {
    this.#copies.push({ body, number: this.#numbers++, place, lock: undefined });
  }

  #move(copy: Copy, place: Place): void {
    copy.place = place;
    copy.number = this.#numbers++;
  }
}
