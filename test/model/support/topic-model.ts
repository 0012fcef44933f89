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
/** Those from which messages are received under a lock. */
export type LivePlace = 'all' | 'red' | 'end';
/** Those in which messages wait for somebody to look after them. */
export type LostPlace = 'transfersOfMiddle' | 'transfersOfRed';

export const STATUSES = ['Active', 'SendDisabled', 'ReceiveDisabled', 'Disabled'] as const;
export type Status = (typeof STATUSES)[number];

/** What is sent to the topic. */
export interface Draft {
  readonly color: 'red' | 'blue';
  readonly size: number;
}

interface Copy {
  readonly body: string;
  /** Later ones have higher numbers; where a copy is new, it has a new one. */
  number: number;
  place: Place | 'gone';
  lock: { readonly until: number } | undefined;
}

/** A copy as somebody received it. */
export interface Held {
  readonly place: LivePlace;
  readonly copy: Copy;
  readonly lock: Copy['lock'];
  readonly lockToken: string;
}

/** As long as all locks last, ms. */
export const LOCK_MS = 30_000;

/**
 * A topic with three subscriptions: `all` gets everything; `red` what is red, and forwards its dead
 * letters to the queue `end`; `big` what is larger than 5, which it forwards to the queue `middle`,
 * and that to `end`. Where `end` takes nothing, a copy waits where it last was.
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

  get endTakes(): boolean {
    return this.status === 'Active' || this.status === 'ReceiveDisabled';
  }

  /** Whether messages can be received there. */
  gives(place: Place): boolean {
    const isAtEnd = place === 'end' || place === 'deadOfEnd';
    return !isAtEnd || this.status === 'Active' || this.status === 'SendDisabled';
  }

  /** Returns the bodies. */
  send(drafts: readonly Draft[]): readonly string[] {
    return drafts.map(({ color, size }) => {
      const body = `m${this.#sent++}`;
      this.#add(body, 'all');
      if (color === 'red') this.#add(body, 'red');
      if (size > 5) this.#add(body, this.endTakes ? 'end' : 'transfersOfMiddle');
      return body;
    });
  }

  /** What lies at a place, in order. */
  at(place: Place): readonly Copy[] {
    return this.#copies
      .filter((copy) => copy.place === place)
      .toSorted((a, b) => a.number - b.number);
  }

  /** What of it can be received now. */
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

  /** Whether the lock was still there; then the copy goes where the outcome sends it. */
  settle(held: Held, outcome: 'complete' | 'abandon' | 'deadLetter'): boolean {
    this.held.splice(this.held.indexOf(held), 1);
    const { copy, lock } = held;
    if (lock === undefined || copy.lock !== lock || lock.until <= this.now) return false;
    copy.lock = undefined;
    if (outcome === 'complete') copy.place = 'gone';
    if (outcome === 'deadLetter') this.#bury(copy);
    return true;
  }

  #bury(copy: Copy): void {
    if (copy.place === 'all') copy.place = 'deadOfAll';
    else if (copy.place === 'end') copy.place = 'deadOfEnd';
    else if (this.endTakes) this.#move(copy, 'end');
    else copy.place = 'transfersOfRed';
  }

  /** Takes everything away from a place. */
  clear(place: Place): void {
    for (const copy of this.at(place)) copy.place = 'gone';
  }

  /** What could not be forwarded is sent anew where it was; from `middle` it goes on. */
  resubmit(place: LostPlace): void {
    for (const copy of this.at(place)) this.#move(copy, place === 'transfersOfRed' ? 'red' : 'end');
  }

  /** The update of a queue ends all locks on its messages. */
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
