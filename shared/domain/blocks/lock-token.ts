import { lockLost } from '../broker-error.ts';

/**
 * A lock token names the location of its message, so that a settlement needs no read before its write (semantics L1).
 * It has sixteen bytes, written as a GUID:
 *
 *     0       section (2 bits), partition (6 bits)
 *     1–6     sequence number of the block
 *     7       slot number
 *     8       number of messages in the block when the lock was taken (a hint)
 *     9–15    lock tag: entity epoch (1 byte), random bytes (6); it must equal the tag in the slot
 */
export interface LockToken {
  readonly section: (typeof LOCKABLE_SECTIONS)[number];
  readonly partition: number;
  readonly block: bigint;
  readonly slot: number;
  readonly liveSlots: number;
  readonly tag: Uint8Array;
}

/**
 * The section of a log that holds a block: `live` = in order of arrival; `returned` = put back next to its old
 * position, by an abandon with properties or by reactivation (semantics #9); `deferred` = deferred; `scheduled` = not
 * due yet.
 */
export type BlockSection = 'live' | 'returned' | 'deferred' | 'scheduled';

/** The sections whose messages can be locked. */
const LOCKABLE_SECTIONS = ['live', 'returned', 'deferred'] as const;

export const TAG_BYTES = 7;
/** The most messages that a block can hold. */
export const SLOTS_MAX = 62;
/** The text of a token up to its slot number. */
const LOCATION_CHARACTERS = 18;
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Writes a token as GUID text. */
export function formatLockToken(token: LockToken): string {
  const bytes = new Uint8Array(16);
  bytes[0] = (LOCKABLE_SECTIONS.indexOf(token.section) << 6) | token.partition;
  for (let i = 0; i < 6; i++) bytes[1 + i] = Number((token.block >> BigInt(8 * (5 - i))) & 0xffn);
  bytes[7] = token.slot;
  bytes[8] = Math.min(token.liveSlots, 255);
  bytes.set(token.tag, 9);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** Reads the GUID text of a token, in any case. Throws MessageLockLost for a text that is no token. */
export function parseLockToken(text: string): LockToken {
  const lower = text.toLowerCase();
  if (!GUID.test(lower)) throw lockLost();
  const hex = lower.replaceAll('-', '');
  const byteAt = (i: number) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  const section = LOCKABLE_SECTIONS[byteAt(0) >> 6];
  const slot = byteAt(7);
  if (section === undefined || slot >= SLOTS_MAX) throw lockLost();
  return {
    section,
    partition: byteAt(0) & 0x3f,
    block: BigInt(`0x${hex.slice(2, 14)}`),
    slot,
    liveSlots: byteAt(8),
    tag: Uint8Array.from({ length: TAG_BYTES }, (_, i) => byteAt(9 + i)),
  };
}

/** The part of a token's text that names its message in the entity: the same for all tokens of that message. */
export function locationIn(text: string): string {
  return text.slice(0, LOCATION_CHARACTERS).toLowerCase();
}

/** Makes a lock tag: the low byte of the entity's epoch, then bytes of `random`, which has at least 6. */
export function lockTag(epoch: number, random: Uint8Array): Uint8Array {
  const tag = new Uint8Array(TAG_BYTES);
  tag[0] = epoch & 0xff;
  tag.set(random.subarray(0, TAG_BYTES - 1), 1);
  return tag;
}

/** So many changes of an entity may be unknown to a process that was frozen since it read the entity. */
const UNKNOWN_CHANGES_MAX = 15;

/**
 * Whether no change of the entity up to this epoch has ended a lock (semantics #14): it is of this epoch, or of a later
 * one, because another process has read the entity after this one did.
 */
export function isOfEpochOrLater(tag: Uint8Array, epoch: number): boolean {
  return (((tag[0] ?? 0) - epoch) & 0xff) <= UNKNOWN_CHANGES_MAX;
}
