import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { type Block, slotOf } from '../../domain/blocks/block.ts';
import type { LockRules, Slot } from '../../domain/blocks/slot.ts';
import { slotName, slotValue } from './block-item.ts';

/**
 * The one builder of changes to blocks. Several changes of slots in one block become one write,
 * each on a condition on its own slot and never on the block as a whole: two receivers at work in
 * one block do not disturb each other (docs/architecture/blocks.md).
 */

/** The condition of a change of a slot. */
export type SlotCondition =
  /** The slot is exactly as it was seen. */
  | { readonly kind: 'unchanged'; readonly slot: Slot }
  /** It has this lock, which ends after `now`, epoch ms; absent in a session, whose own lock decides that. */
  | { readonly kind: 'locked'; readonly tag: Uint8Array; readonly now?: number };

/** The condition that the lock with this tag is live on a message, as `holdsLock` decides it (semantics #5). */
export function underLock(tag: Uint8Array, { session }: LockRules, now: number): SlotCondition {
  return session === undefined ? { kind: 'locked', tag, now } : { kind: 'locked', tag };
}

/** The condition that a message of a block is still as this image of the block shows it. */
export function asSeen(block: Block, number: number): { number: number; when: SlotCondition } {
  return { number, when: { kind: 'unchanged', slot: slotOf(block, number) } };
}

/** The effect of a change of a slot. */
export type SlotEffect =
  | { readonly kind: 'set'; readonly slot: Slot }
  | { readonly kind: 'remove' }
  /** The lock lasts until then. Refused if it lasts as long already. */
  | { readonly kind: 'extend'; readonly until: number }
  /** The lock ends, and its delivery may not count. The message stays back until `heldUntil`, if given. */
  | { readonly kind: 'release'; readonly heldUntil?: number; readonly isUncounted?: boolean };

/** A change of one slot, on a condition. */
export interface SlotChange {
  readonly number: number;
  readonly when: SlotCondition;
  readonly effect: SlotEffect;
}

/** A conditional write of a block. */
export interface BlockWrite {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
}

/** An update of a block. */
export interface BlockUpdate extends BlockWrite {
  readonly UpdateExpression: string;
}

/** The update that carries out changes of slots, if all their conditions hold. */
export function blockUpdate(changes: readonly SlotChange[]): BlockUpdate {
  const names = new Names();
  const values = new Values();
  const conditions = changes.map((change) => condition(change, names, values));
  const sets: string[] = [];
  const removes: string[] = [];
  for (const { number, effect } of changes) {
    const path = names.slot(number);
    switch (effect.kind) {
      case 'set':
        sets.push(`${path} = ${values.of(slotValue(effect.slot))}`);
        break;
      case 'remove':
        removes.push(path);
        break;
      case 'extend':
        sets.push(`${path}.${names.of('u')} = ${values.number(effect.until)}`);
        break;
      case 'release':
        removes.push(`${path}.${names.of('t')}`);
        if (effect.heldUntil === undefined) removes.push(`${path}.${names.of('u')}`);
        else sets.push(`${path}.${names.of('u')} = ${values.number(effect.heldUntil)}`);
        if (effect.isUncounted) {
          const count = `${path}.${names.of('n')}`;
          const before = `if_not_exists(${count}, ${values.number(0)})`;
          sets.push(`${count} = ${before} + ${values.number(1)}`);
        }
        break;
    }
  }
  const clauses = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.join(', ')}`] : []),
  ];
  return {
    UpdateExpression: clauses.join(' '),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names.all,
    ...values.asRequest(),
  };
}

/**
 * The deletion of a block whose last messages these are. It happens only if no other message is
 * left in it.
 */
export function blockDelete(
  removals: readonly { readonly number: number; readonly when: SlotCondition }[],
): BlockWrite {
  const names = new Names();
  const values = new Values();
  const conditions = removals.map((removal) => condition(removal, names, values));
  conditions.push(`size(${names.of('s')}) = ${values.number(removals.length)}`);
  return {
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names.all,
    ...values.asRequest(),
  };
}

/**
 * The same write, on the further condition that the properties of the block's messages are those of this image. A slot
 * alone does not show it: a dead letter counts no deliveries, and a reactivation may set the count back.
 */
export function ifSameProperties<Write extends BlockWrite>(
  write: Write,
  { payload: { overlay } }: Block,
): Write {
  const { ConditionExpression: condition, ExpressionAttributeValues: values } = write;
  if (overlay === undefined) {
    return { ...write, ConditionExpression: `${condition} AND attribute_not_exists(v)` };
  }
  return {
    ...write,
    ConditionExpression: `${condition} AND v = :seen`,
    ExpressionAttributeValues: { ...values, ':seen': { B: overlay } },
  };
}

function condition(
  { number, when, effect }: Pick<SlotChange, 'number' | 'when'> & Partial<SlotChange>,
  names: Names,
  values: Values,
): string {
  const path = names.slot(number);
  switch (when.kind) {
    case 'unchanged':
      return `${path} = ${values.of(slotValue(when.slot))}`;
    case 'locked': {
      const sameHolder = `${path}.${names.of('t')} = ${values.of({ B: when.tag })}`;
      if (when.now === undefined) return sameHolder;
      const end = `${path}.${names.of('u')}`;
      // An expired lock is lost even if no receiver has taken the message since (semantics #8).
      if (effect?.kind !== 'extend') return `${sameHolder} AND ${end} > ${values.number(when.now)}`;
      // And a copy of an earlier renewal that arrives late must not shorten it.
      const [first, last] = [values.number(when.now + 1), values.number(effect.until - 1)];
      return `${sameHolder} AND ${end} BETWEEN ${first} AND ${last}`;
    }
  }
}

/** Placeholders for attribute names; slots are named by letters that the language may reserve. */
class Names {
  readonly all: Record<string, string> = {};

  of(name: string): string {
    this.all[`#${name}`] = name;
    return `#${name}`;
  }

  slot(number: number): string {
    const name = slotName(number);
    this.all[`#_${name}`] = name;
    return `${this.of('s')}.#_${name}`;
  }
}

/** Placeholders for values; equal values share one, which keeps expressions of many slots short. */
class Values {
  readonly #all: Record<string, AttributeValue> = {};
  readonly #known = new Map<string, string>();

  of(value: AttributeValue): string {
    const text = fingerprint(value);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const placeholder = `:v${this.#known.size}`;
    this.#known.set(text, placeholder);
    this.#all[placeholder] = value;
    return placeholder;
  }

  number(value: number): string {
    return this.of({ N: String(value) });
  }

  asRequest(): { ExpressionAttributeValues?: Record<string, AttributeValue> } {
    return this.#known.size === 0 ? {} : { ExpressionAttributeValues: this.#all };
  }
}

function fingerprint(value: AttributeValue): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Uint8Array ? Buffer.from(inner).toString('hex') : inner,
  );
}
