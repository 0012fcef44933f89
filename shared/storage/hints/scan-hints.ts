import type { AgeClock, Instant } from '../../domain/age.ts';
import type { LockRules } from '../../domain/blocks/slot.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Timer } from '../../domain/scheduler.ts';
import { PageMemory } from './page-memory.ts';

/**
 * "Nothing before this sort key can be received until then": what this process remembers of the start of a
 * log, so that a receive does not pay for the blocks in front of the message it can get (docs/architecture/hints.md).
 *
 * It is only a hint. This process drops it as soon as it puts a message back in front, and a scan never hides a
 * block that arrived while the scan was reading. Changes by other processes are found once the hint is 1.5 s old
 * (semantics #15): each receive then checks it again piece by piece, and reads the whole log before it returns nothing.
 */
export interface ScanHint {
  /** Stays the same when the hint is moved on. */
  readonly id: number;
  /** Sort key from which blocks are worth reading. */
  readonly skipBefore: string;
  /** Epoch ms at which a message before `skipBefore` may become free. */
  readonly validUntil: number;
  /** The locks that the hint counts on: see `lockScopeOf`. */
  readonly lockScope: string;
  /** When the last complete scan began. */
  readonly lookedAt: Instant;
  /** A recheck, in pieces: when it began, and where its next piece starts. */
  readonly recheck?: { readonly beganAt: Instant; readonly cursor: string };
}

/** The part of a log that a scan found nothing in. */
export type SkippedRange = Pick<ScanHint, 'skipBefore' | 'validUntil' | 'lockScope'>;

/**
 * The locks that hold messages back for a receive: those of the entity's present epoch and, in a session, of its
 * present holder. Older locks hold nothing back, so a hint that counted on them is not valid.
 */
export function lockScopeOf({ epoch, session }: LockRules): string {
  const lockId = session?.holder?.lockId ?? new Uint8Array();
  return `${epoch}.${Buffer.from(lockId).toString('hex')}`;
}

const FRESH_MS = 1500;
const LOGS_MAX = 10_000;

/** A scan that is reading a log. */
export interface ActiveScan {
  /** Everything that the scan reads is at least as new as this. */
  readonly beganAt: Instant;
  /** How many other scans of this process read the same log. */
  readonly others: number;
  /** The lowest sort key at which a message arrived or became free since the scan began. */
  readonly changedAt: string | undefined;
  /** Call it once the scan has stored its hint. */
  end(): void;
}

/** Slots that a receive is about to claim. Other receives of this process choose different ones. */
export interface SlotReservation {
  /** Gives up the other slots. */
  keep(slots: readonly number[]): void;
  /**
   * Ends the reservation; `isAllTaken` = whether this receive got all the slots, so that none is left free. False = it
   * had ended before.
   */
  end(isAllTaken: boolean): boolean;
}

const NONE: Iterable<Promise<void>> = [];
/** Sorts before all sort keys. */
const ANYWHERE = '';

/** The scan hints of all logs of a process, and the slots that its receives are about to claim. */
export class ScanHints {
  readonly #hints = new BoundedMap<string, ScanHint>(LOGS_MAX);
  /** When the scan began that found a log empty, monotonic ms. */
  readonly #emptyAt = new BoundedMap<string, number>(LOGS_MAX);
  readonly #reserved = new Map<string, Map<string, Set<number>>>();
  readonly #claims = new Map<string, Set<Promise<void>>>();
  /** The last time, as a number that grows, that a claim left slots which it had reserved. */
  readonly #leftAt = new BoundedMap<string, number>(LOGS_MAX);
  #lastLeft = 0;
  /** Those that wait until a message of a log arrives or becomes free. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #scans = new Map<string, Set<{ changedAt: string | undefined }>>();
  /** What the last scans read; forgotten together with the hints. */
  readonly pages: PageMemory;
  readonly #ages: AgeClock;
  #lastId = 0;

  /** `remembersScans` = whether `pages` keeps anything. */
  constructor(ages: AgeClock, remembersScans: boolean) {
    this.#ages = ages;
    this.pages = new PageMemory(ages, remembersScans);
  }

  /** The hint for a log, if it is still valid at `now` (epoch ms) for these locks. */
  find(log: string, now: number, lockScope: string): ScanHint | undefined {
    const hint = this.#hints.get(log);
    if (hint === undefined) return undefined;
    if (now < hint.validUntil && hint.lockScope === lockScope) return hint;
    this.#hints.delete(log);
    return undefined;
  }

  /** Whether a hint is so young that it need not be checked again. */
  isFresh(hint: ScanHint): boolean {
    return this.#ages.since(hint.lookedAt) < FRESH_MS;
  }

  /** Stores the result of a complete scan from the first block, which began at `lookedAt`. */
  set(log: string, { skipBefore, validUntil, lockScope }: SkippedRange, lookedAt: Instant): void {
    this.#hints.set(log, { id: ++this.#lastId, skipBefore, validUntil, lockScope, lookedAt });
  }

  /**
   * Moves on the hint from which a scan began. Its age stays, because the blocks before it were not read
   * again. Does nothing if the hint was invalidated or replaced since.
   */
  advance(log: string, hint: ScanHint, { skipBefore, validUntil }: SkippedRange): void {
    const current = this.#hints.get(log);
    if (current?.id !== hint.id || current.skipBefore < hint.skipBefore) return;
    this.#hints.set(log, {
      ...current,
      skipBefore: skipBefore > current.skipBefore ? skipBefore : current.skipBefore,
      validUntil: Math.min(validUntil, current.validUntil),
    });
  }

  /** Moves the hint back before blocks of which a receive got less than it chose. */
  invalidateFrom(log: string, sortKeys: readonly string[]): void {
    if (sortKeys.length > 0) this.pages.drop(log);
    const hint = this.#hints.get(log);
    const [lowest] = [...sortKeys].sort();
    if (hint === undefined || lowest === undefined || lowest >= hint.skipBefore) return;
    this.#hints.set(log, { ...hint, skipBefore: lowest });
  }

  /**
   * Notes how far a recheck has come, whose last piece began at `pieceBeganAt`. `cursor` undefined = it
   * is complete: the hint is then as old as the first piece.
   */
  noteRecheck(
    log: string,
    { id }: ScanHint,
    pieceBeganAt: Instant,
    cursor: string | undefined,
  ): void {
    const hint = this.#hints.get(log);
    if (hint?.id !== id) return;
    const { recheck, ...rest } = hint;
    const beganAt = recheck?.beganAt ?? pieceBeganAt;
    this.#hints.set(
      log,
      cursor === undefined
        ? { ...rest, lookedAt: beganAt }
        : { ...rest, recheck: { beganAt, cursor } },
    );
  }

  /** Notes whether a scan of a whole log, strongly consistent, read any block. */
  noteExtent(log: string, { beganAt, changedAt }: ActiveScan, isEmpty: boolean): void {
    if (isEmpty && changedAt === undefined) this.#emptyAt.set(log, beganAt.monotonicMs);
    else this.#emptyAt.delete(log);
  }

  /** When the scan began that found the log empty, monotonic ms; undefined = none did, or a message arrived since. */
  emptyAt(log: string): number | undefined {
    return this.#emptyAt.get(log);
  }

  /** Drops the hint of a log. */
  invalidate(log: string): void {
    this.#hints.delete(log);
    this.pages.drop(log);
  }

  /** Drops the hint because a message became free somewhere in the log. */
  noteReturn(log: string): void {
    this.pages.drop(log);
    this.noteBlock(log, ANYWHERE);
  }

  /** Drops the hint if it would hide a block with this sort key, which arrived or became free. */
  noteBlock(log: string, sortKey: string): void {
    this.pages.dropAt(log, sortKey);
    this.#emptyAt.delete(log);
    const hint = this.#hints.get(log);
    if (hint !== undefined && sortKey < hint.skipBefore) this.#hints.delete(log);
    for (const scan of this.#scans.get(log) ?? []) {
      if (scan.changedAt === undefined || sortKey < scan.changedAt) scan.changedAt = sortKey;
    }
    for (const wake of this.#waiting.get(log) ?? []) wake();
  }

  /** Slots of a block that a receive of this process is claiming now. */
  reservedIn(log: string, sortKey: string): ReadonlySet<number> | undefined {
    return this.#reserved.get(log)?.get(sortKey);
  }

  /** Registers a scan, so that it learns of changes while it reads. */
  beginScan(log: string): ActiveScan {
    const scans = getOrAdd(this.#scans, log, () => new Set());
    const others = scans.size;
    const scan: { changedAt: string | undefined } = { changedAt: undefined };
    scans.add(scan);
    return {
      beganAt: this.#ages.now(),
      others,
      get changedAt() {
        return scan.changedAt;
      },
      end: () => {
        scans.delete(scan);
        if (scans.size === 0) this.#scans.delete(log);
      },
    };
  }

  /**
   * Keeps slots for one receive, so that other receives of this process choose different ones. Two receives
   * that choose the same slot race, and the loser pays for a write unit.
   */
  reserve(log: string, sortKey: string, slots: readonly number[]): SlotReservation {
    const blocks = getOrAdd(this.#reserved, log, () => new Map<string, Set<number>>());
    const taken = getOrAdd(blocks, sortKey, () => new Set<number>());
    for (const slot of slots) taken.add(slot);
    const claims = getOrAdd(this.#claims, log, () => new Set());
    let ended = () => {};
    const claim = new Promise<void>((resolve) => {
      ended = resolve;
    });
    claims.add(claim);
    let reserved = slots;
    const giveUp = (given: readonly number[]) => {
      for (const slot of given) taken.delete(slot);
      if (taken.size === 0 && blocks.get(sortKey) === taken) blocks.delete(sortKey);
      if (blocks.size === 0 && this.#reserved.get(log) === blocks) this.#reserved.delete(log);
    };
    return {
      keep: (kept) => {
        giveUp(reserved.filter((slot) => !kept.includes(slot)));
        reserved = kept;
        this.#leftAt.set(log, ++this.#lastLeft);
      },
      end: (isAllTaken) => {
        if (!claims.delete(claim)) return false;
        if (claims.size === 0 && this.#claims.get(log) === claims) this.#claims.delete(log);
        giveUp(reserved);
        if (!isAllTaken) this.#leftAt.set(log, ++this.#lastLeft);
        ended();
        return true;
      },
    };
  }

  /** When a claim of this process last left slots of a log which it had chosen, as a number that grows; 0 = never. */
  leftAt(log: string): number {
    return this.#leftAt.get(log) ?? 0;
  }

  /**
   * Waits for the claims that this process has under way in a log. False = one has left something since `leftBefore`,
   * or a message arrived or became free meanwhile, so a scan that found nothing else has to read again; 'undecided' =
   * it took too long: `startTimer` starts a timer for that.
   */
  async areAllTaken(
    log: string,
    leftBefore: number,
    startTimer: (over: () => void) => Timer,
  ): Promise<boolean | 'undecided'> {
    const claims = this.#claims.get(log) ?? NONE;
    const waiting = getOrAdd(this.#waiting, log, () => new Set());
    let wake = () => {};
    let giveUp = () => {};
    const changed = new Promise<false | 'undecided'>((resolve) => {
      wake = () => resolve(false);
      giveUp = () => resolve('undecided');
    });
    waiting.add(wake);
    const timer = claims === NONE ? undefined : startTimer(giveUp);
    const ended = Promise.all(claims).then(() => true as const);
    const outcome = await Promise.race([ended, changed]);
    timer?.cancel();
    waiting.delete(wake);
    if (waiting.size === 0) this.#waiting.delete(log);
    return outcome === true ? this.leftAt(log) === leftBefore : outcome;
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
