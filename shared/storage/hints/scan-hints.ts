import type { AgeClock, Instant } from '../../domain/age.ts';
import type { LockRules } from '../../domain/blocks/slot.ts';

/**
 * What this process remembers of the front of a log: "nothing can be had before here until then",
 * so that receivers do not pay for what lies in front of the message they can have (design §3,
 * rule 10). A hint only. It is dropped at once when this process puts something back in front, and
 * what comes in front while a log is being read is not closed behind that reading. What
 * other processes do there is found by looking again, piece by piece, once the memory is a second or
 * two old, and by the whole walk that a receive then makes before it goes away with nothing.
 */
export interface FrontMemory {
  /** Of this memory, however often it is moved on. */
  readonly id: number;
  /** Sort key from which blocks are worth reading. */
  readonly from: string;
  /** For whom it holds: the epoch of the entity and, where there is one, the holder of the session. */
  readonly holds: string;
  /** Epoch ms at which something before `from` may come free. */
  readonly until: number;
  /** When the last complete look was. */
  readonly lookedAt: Instant;
  /** A renewed look, piece by piece: when it began, and where its next piece starts. */
  readonly renewing?: { readonly beganAt: Instant; readonly cursor: string };
}

/** Whose locks hold messages back: those of an older epoch, or of an earlier holder, do not. */
export function holdsOf({ epoch, session }: LockRules): string {
  const tenure = session?.holder?.tenure ?? new Uint8Array();
  return `${epoch}.${Buffer.from(tenure).toString('hex')}`;
}

/** How far a log is closed, seen from its front. */
export type Closed = Pick<FrontMemory, 'from' | 'until' | 'holds'>;

const FRESH_MS = 1500;
const LOGS_MAX = 10_000;

/** A scan under way. */
export interface ScanWatch {
  /** What it reads is as old as this, or younger. */
  readonly beganAt: Instant;
  /** How many others are at the same log. */
  readonly others: number;
  /** The lowest sort key at which something came free, or in, since the scan began. */
  readonly openedAt: string | undefined;
  /** To be called when the scan has remembered what it saw. */
  end(): void;
}

/** Slots that a receive is about to claim; other receives of this process choose different ones. */
export interface Reservation {
  /** To be called once it is known whether something of them is still free: whether all are in hands. */
  settle(isAllTaken: boolean): void;
  /** To be called when the claim is over. */
  release(): void;
}

/** Comes before all sort keys. */
const ANYWHERE = '';

/** The memories of all logs of a process, and the slots it is about to claim. */
export class Fronts {
  readonly #memories = new Map<string, FrontMemory>();
  readonly #reserved = new Map<string, Map<string, Set<number>>>();
  readonly #underWay = new Map<string, Set<Promise<boolean>>>();
  readonly #scans = new Map<string, Set<{ openedAt: string | undefined }>>();
  readonly #ages: AgeClock;
  #lastId = 0;

  constructor(ages: AgeClock) {
    this.#ages = ages;
  }

  /** What is remembered of a log and still holds. */
  recall(log: string, now: number, holds: string): FrontMemory | undefined {
    const memory = this.#memories.get(log);
    if (memory === undefined) return undefined;
    if (now < memory.until && memory.holds === holds) return memory;
    this.#memories.delete(log);
    return undefined;
  }

  /** Whether a memory is so young that nothing need be looked at again. */
  isFresh(memory: FrontMemory): boolean {
    return this.#ages.since(memory.lookedAt) < FRESH_MS;
  }

  /** Remembers after a complete look from the first block on, which began at `lookedAt`. */
  remember(log: string, { from, until, holds }: Closed, lookedAt: Instant): void {
    if (this.#memories.size >= LOGS_MAX) this.#memories.clear();
    this.#memories.set(log, { id: ++this.#lastId, from, until, holds, lookedAt });
  }

  /**
   * Moves the memory on from which a look began; its age stays, since what lies before was not looked at
   * again. Nothing where the front has been opened, or is remembered anew, since then.
   */
  advance(log: string, memory: FrontMemory, { from, until }: Closed): void {
    const current = this.#memories.get(log);
    if (current?.id !== memory.id || current.from < memory.from) return;
    this.#memories.set(log, {
      ...current,
      from: from > current.from ? from : current.from,
      until: Math.min(until, current.until),
    });
  }

  /** Takes back what was closed too soon: of blocks with these sort keys less was got than chosen. */
  reopen(log: string, sortKeys: readonly string[]): void {
    const memory = this.#memories.get(log);
    const [lowest] = [...sortKeys].sort();
    if (memory === undefined || lowest === undefined || lowest >= memory.from) return;
    this.#memories.set(log, { ...memory, from: lowest });
  }

  /**
   * Notes how far the renewed look has come, of which this piece began at `pieceBeganAt`; `undefined` = it
   * has come to the end. The memory is then as old as the first of the pieces.
   */
  noteLook(
    log: string,
    { id }: FrontMemory,
    pieceBeganAt: Instant,
    cursor: string | undefined,
  ): void {
    const memory = this.#memories.get(log);
    if (memory?.id !== id) return;
    const { renewing, ...rest } = memory;
    const beganAt = renewing?.beganAt ?? pieceBeganAt;
    this.#memories.set(
      log,
      cursor === undefined
        ? { ...rest, lookedAt: beganAt }
        : { ...rest, renewing: { beganAt, cursor } },
    );
  }

  /** Drops the memory: nothing is known of the front any more. */
  forget(log: string): void {
    this.#memories.delete(log);
  }

  /** Drops the memory: something came free, wherever that is. */
  noteReturn(log: string): void {
    this.noteBlock(log, ANYWHERE);
  }

  /** Drops the memory if it would hide a block with this sort key, which came in or came free. */
  noteBlock(log: string, sortKey: string): void {
    const memory = this.#memories.get(log);
    if (memory !== undefined && sortKey < memory.from) this.#memories.delete(log);
    for (const scan of this.#scans.get(log) ?? []) {
      if (scan.openedAt === undefined || sortKey < scan.openedAt) scan.openedAt = sortKey;
    }
  }

  /** Slots of a block that a receive of this process is claiming just now. */
  reservedIn(log: string, sortKey: string): ReadonlySet<number> | undefined {
    return this.#reserved.get(log)?.get(sortKey);
  }

  /** Notes that a receive begins to choose from a log. */
  beginScan(log: string): ScanWatch {
    const scans = getOrAdd(this.#scans, log, () => new Set());
    const others = scans.size;
    const scan: { openedAt: string | undefined } = { openedAt: undefined };
    scans.add(scan);
    return {
      beganAt: this.#ages.now(),
      others,
      get openedAt() {
        return scan.openedAt;
      },
      end: () => {
        scans.delete(scan);
        if (scans.size === 0) this.#scans.delete(log);
      },
    };
  }

  /**
   * Keeps slots for a receive, so that others of this process choose different ones rather than lose a
   * race, which costs a write unit.
   */
  reserve(log: string, sortKey: string, slots: readonly number[]): Reservation {
    const blocks = getOrAdd(this.#reserved, log, () => new Map<string, Set<number>>());
    const taken = getOrAdd(blocks, sortKey, () => new Set<number>());
    for (const slot of slots) taken.add(slot);
    let settle = (_isAllTaken: boolean) => {};
    const underWay = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    const allUnderWay = getOrAdd(this.#underWay, log, () => new Set());
    allUnderWay.add(underWay);
    return {
      settle: (isAllTaken) => settle(isAllTaken),
      release: () => {
        settle(false);
        allUnderWay.delete(underWay);
        if (allUnderWay.size === 0) this.#underWay.delete(log);
        for (const slot of slots) taken.delete(slot);
        if (taken.size === 0) blocks.delete(sortKey);
        if (blocks.size === 0) this.#reserved.delete(log);
      },
    };
  }

  /**
   * Waits for the claims of this process that are under way in a log. False = one of them left something
   * that it had chosen: a look that found nothing else has to look again.
   */
  async areAllTaken(log: string): Promise<boolean> {
    const outcomes = await Promise.all(this.#underWay.get(log) ?? []);
    return outcomes.every(Boolean);
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
