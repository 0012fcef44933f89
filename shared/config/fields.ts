import { listed, nearestOf, shown } from '../domain/fault-words.ts';
import type { Faults } from './faults.ts';

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** The path of a member: `queues.orders`, `queues["queue.1"]`. `at` = the path of its object; '' = the top. */
export function memberPath(at: string, name: string): string {
  if (!PLAIN_NAME.test(name)) return `${at}[${JSON.stringify(name)}]`;
  return at === '' ? name : `${at}.${name}`;
}

/**
 * An object of a configuration. A null or undefined member counts as absent, but a name that is not known is a fault
 * with null, too. Faults are noted, not thrown.
 */
export class Fields {
  /** The path of the object; '' = the top. */
  readonly at: string;
  readonly faults: Faults;
  readonly #members: ReadonlyMap<string, unknown>;
  /** The names of the members, also of those that are null. */
  readonly #names: readonly string[];

  private constructor(
    at: string,
    faults: Faults,
    members: readonly (readonly [string, unknown])[],
  ) {
    this.at = at;
    this.faults = faults;
    this.#members = new Map(members.filter(([, member]) => member !== null));
    this.#names = members.map(([name]) => name);
  }

  /** Reads an object; undefined, with a fault, for anything else. `what` = what it must be, in the sentence. */
  static of(value: unknown, at: string, faults: Faults, what = 'an object'): Fields | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      faults.add(at, `It must be ${what}, not ${shown(value)}.`);
      return undefined;
    }
    const given = Object.entries(value).filter(([, member]) => member !== undefined);
    return new Fields(at, faults, given);
  }

  /** Names and values of all members that are there, in their order. */
  get members(): Iterable<readonly [string, unknown]> {
    return this.#members;
  }

  /** The path of a member. */
  pathOf(name: string): string {
    return memberPath(this.at, name);
  }

  /** The value of a member. */
  get(name: string): unknown {
    return this.#members.get(name);
  }

  /** Notes a fault for each member of another name. `hintOf` = what to say instead of the usual advice. */
  requireKnown(names: readonly string[], hintOf?: (name: string) => string | undefined): void {
    for (const name of this.#names) {
      if (names.includes(name)) continue;
      const advice = hintOf?.(name) ?? unknownName(name, names);
      this.faults.add(this.pathOf(name), advice);
    }
  }

  /** A text; undefined where it is absent, or, with a fault, something else. */
  text(name: string): string | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === 'string') return value;
    this.faults.add(this.pathOf(name), `It must be a text, not ${shown(value)}.`);
    return undefined;
  }

  /** A name, which must be there; undefined, with a fault, otherwise. */
  requiredText(name: string): string | undefined {
    const value = this.get(name);
    if (value !== undefined) return this.text(name);
    this.faults.add(this.at, `The ${name} is missing: add it.`);
    return undefined;
  }

  /** An object; undefined where it is absent, or, with a fault, something else. */
  object(name: string): Fields | undefined {
    const value = this.get(name);
    return value === undefined ? undefined : Fields.of(value, this.pathOf(name), this.faults);
  }

  /** The members of a list with their paths; none where it is absent, or, with a fault, something else. */
  list(name: string): readonly Placed[] {
    const value = this.get(name);
    if (value === undefined) return [];
    if (Array.isArray(value)) return placedList(value, this.pathOf(name));
    this.faults.add(this.pathOf(name), `It must be a list, not ${shown(value)}.`);
    return [];
  }
}

function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known);
  return nearest === undefined
    ? `There is no such property: remove it, or use one of ${listed(known, 'and')}.`
    : `There is no such property: write ${nearest} instead, or remove it.`;
}

/** A value with its path. */
export interface Placed {
  readonly at: string;
  readonly value: unknown;
}

/** The members of a list with their paths. */
export function placedList(list: readonly unknown[], at: string): readonly Placed[] {
  return list.map((value, i) => ({ at: `${at}[${i}]`, value }));
}
