import type { Caller } from '../../client/call.ts';
import type { ClientPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import { readAll } from '../../client/read-all.ts';
import { Observable } from '../ui/observable.ts';
import { isEmptyFilter, type MessageFilter, matches, reasonOf } from './filter.ts';
import type { MessageTab } from './tabs.ts';

/** What to look for, and where. */
export interface ScanRequest {
  readonly path: ClientPath;
  /** Decides which state the messages have. */
  readonly tab: MessageTab;
  readonly filter: MessageFilter;
  /** The lowest sequence number to look at. */
  readonly from?: bigint | undefined;
  readonly sessionId?: string | undefined;
}

/** What was found so far. */
export interface ScanState {
  /** Those that match, in the order of their numbers. */
  readonly found: readonly ClientMessage[];
  /** How many messages were read, whether they match or not. */
  readonly scanned: number;
  /** How many of those that were read and have the state were dead-lettered for which reason. */
  readonly reasons: ReadonlyMap<string, number>;
  readonly isReading: boolean;
  /** There are no more. */
  readonly isAtEnd: boolean;
  /** No more are kept; go on from the number after the last one. */
  readonly isFull: boolean;
  /** Sentences about messages that no answer can carry. */
  readonly skipped: readonly string[];
  readonly error?: unknown;
}

/** The most messages, and characters of their JSON, that the page keeps of one queue. */
const FOUND_MAX = 5_000;
const CHARACTERS_MAX = 32 * 1024 * 1024;
/** How many are looked for at a time, and after how many in vain somebody has to ask for more. */
const STEP = 100;
const SCANNED_MAX = 5_000;
/** The most reasons that are counted apart. */
const REASONS_MAX = 1_000;
/** Stands for all reasons beyond those. */
export const OTHER_REASONS = '(other reasons)';

/** Sentences about messages that no answer can carry, which are shown. */
const SKIPPED_SHOWN = 10;

const NOTHING: ScanState = {
  found: [],
  scanned: 0,
  reasons: new Map(),
  isReading: false,
  isAtEnd: false,
  isFull: false,
  skipped: [],
};

/** Looks through the messages of a queue without changing them: page by page, and no further than it is asked to. */
export class MessageScan {
  readonly state = new Observable<ScanState>(NOTHING);
  readonly #caller: Caller;
  readonly #request: ScanRequest;
  #pages: AsyncGenerator<readonly ClientMessage[]>;
  #skipped: string[] = [];
  #hasSessions = false;
  /** The lowest number that was not looked at; undefined = that of the request. */
  #next: bigint | undefined;
  #characters = 0;
  #isStopped = false;

  constructor(caller: Caller, request: ScanRequest) {
    this.#caller = caller;
    this.#request = request;
    this.#pages = this.#readFrom(request.from);
  }

  /** Looks until there are some more to show, or until many were looked at in vain. */
  async more(): Promise<void> {
    const { found, scanned } = this.state.value;
    await this.#read(
      (now) => now.found.length >= found.length + STEP || now.scanned >= scanned + SCANNED_MAX,
    );
  }

  /** Looks through the whole queue, until it is stopped or as many were found as are kept. */
  async toEnd(): Promise<void> {
    await this.#read(() => false);
  }

  /** Ends the reading that is under way after the page that it reads now. */
  stop(): void {
    this.#isStopped = true;
  }

  #readFrom(from: bigint | undefined): AsyncGenerator<readonly ClientMessage[]> {
    const { path, sessionId, filter, tab } = this.#request;
    return readAll(this.#caller, path, {
      from,
      sessionId,
      // The first page of an unfiltered list is small, so that it is there at once.
      ...(isEmptyFilter(filter) && !tab.isSparse ? { pageMessages: STEP } : {}),
      skipped: (sentence) => this.#skipped.push(sentence),
      withSessions: () => {
        this.#hasSessions = true;
      },
    });
  }

  /** After an error, goes on where it was; of sessions, which are read one after the other, from the start. */
  #resume(): void {
    if (this.#hasSessions) {
      this.#skipped = [];
      this.#characters = 0;
      this.#next = undefined;
      this.state.value = { ...NOTHING, isReading: true };
    }
    this.#pages = this.#readFrom(this.#next ?? this.#request.from);
  }

  async #read(isEnough: (now: ScanState) => boolean): Promise<void> {
    const { state } = this;
    const { isReading, isAtEnd, isFull } = state.value;
    if (isReading || isAtEnd || isFull) return;
    this.#isStopped = false;
    const { error, ...before } = state.value;
    state.value = { ...before, isReading: true };
    if (error !== undefined) this.#resume();
    try {
      while (!this.#isStopped && !isEnough(state.value)) {
        const { done, value } = await this.#pages.next();
        state.value = done ? { ...state.value, isAtEnd: true } : this.#with(value);
        if (state.value.isAtEnd || state.value.isFull) break;
      }
      state.value = { ...state.value, isReading: false };
    } catch (error) {
      state.value = { ...state.value, isReading: false, error };
    }
  }

  #with(page: readonly ClientMessage[]): ScanState {
    const {
      filter,
      tab: { state },
    } = this.#request;
    const before = this.state.value;
    const reasons = new Map(before.reasons);
    const found = [...before.found];
    for (const message of page) {
      if (state === undefined) count(reasons, reasonOf(message));
      if (!matches(message, filter, state)) continue;
      found.push(message);
      this.#characters += message.text.length;
    }
    this.#next = (page.at(-1)?.sequenceNumber ?? -1n) + 1n;
    return {
      ...before,
      found,
      reasons,
      scanned: before.scanned + page.length,
      isFull: found.length >= FOUND_MAX || this.#characters >= CHARACTERS_MAX,
      skipped: this.#skipped.slice(0, SKIPPED_SHOWN),
    };
  }
}

function count(reasons: Map<string, number>, reason: string): void {
  const isKnown = reasons.has(reason) || reasons.size < REASONS_MAX;
  const name = isKnown ? reason : OTHER_REASONS;
  reasons.set(name, (reasons.get(name) ?? 0) + 1);
}
