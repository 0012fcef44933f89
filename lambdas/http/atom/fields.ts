import { parseDuration } from '../../../shared/domain/duration.ts';
import { badValue } from '../../../shared/domain/entities/setting-checks.ts';
import { NAMESPACE } from './namespaces.ts';
import type { XmlElement } from './xml.ts';

/**
 * Reads the elements of a description by name, in any order; those nobody asks for are ignored, so
 * that a client may send back what it was shown. An absent element and one that is `i:nil` are the
 * same. An empty one is no value and refused, but where text is expected: there it means "none",
 * which is how clients take a forward or a note away.
 */
export class Fields {
  readonly #element: XmlElement;

  constructor(element: XmlElement) {
    this.#element = element;
  }

  /** Text as it stands; absent where empty. */
  text(name: string): string | undefined {
    return this.#scalar(name) || undefined;
  }

  /** Throws ArgumentError. */
  boolean(name: string): boolean | undefined {
    return this.#parsed(name, 'true or false', (text) => BOOLEANS[text.toLowerCase()]);
  }

  /** A whole number; its bounds are for the rules to check. Throws ArgumentError. */
  whole(name: string): number | undefined {
    return this.#parsed(name, 'a whole number', (text) =>
      WHOLE.test(text) ? Number(text) : undefined,
    );
  }

  /** A duration in ms; infinite = unlimited. Throws ArgumentError. */
  duration(name: string): number | undefined {
    return this.#parsed(name, 'a duration', (text) => parseDuration(text, name) ?? Infinity);
  }

  /** One of a few words. Throws ArgumentError. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    return this.#parsed(name, `one of ${words.join(', ')}`, (text) =>
      words.find((word) => word === text),
    );
  }

  /** The child of that name. Throws ArgumentError where it is there twice. */
  child(name: string): XmlElement | undefined {
    const [child, ...others] = this.children(name);
    if (others.length > 0)
      throw badValue(`The element '${name}' is there ${others.length + 1} times.`);
    return child;
  }

  /** The children of that name which are not nil. */
  children(name: string): readonly XmlElement[] {
    return this.#element.children.filter(
      (child) => child.name === name && child.namespace === NAMESPACE.description && !isNil(child),
    );
  }

  #scalar(name: string): string | undefined {
    const child = this.child(name);
    if (child === undefined) return undefined;
    if (child.children.length > 0) throw badValue(`The element '${name}' must hold only text.`);
    return child.text;
  }

  #parsed<T>(name: string, what: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.#scalar(name)?.trim();
    if (text === undefined) return undefined;
    const value = text === '' ? undefined : parse(text);
    if (value !== undefined) return value;
    throw badValue(
      text === ''
        ? `The element '${name}' is empty; leave it out to have its default.`
        : `The value '${text.slice(0, 64)}' of ${name} is not ${what}.`,
    );
  }
}

const WHOLE = /^[+-]?\d{1,19}$/;
const BOOLEANS: Readonly<Record<string, boolean | undefined>> = Object.assign(Object.create(null), {
  true: true,
  false: false,
  1: true,
  0: false,
});

/** The local name of what `i:type` says, whatever the prefixes of the attribute and of the value. */
export function typeOf(element: XmlElement): string | undefined {
  const type = instanceAttribute(element, 'type');
  return type?.slice(type.indexOf(':') + 1).trim();
}

function isNil(element: XmlElement): boolean {
  const nil = instanceAttribute(element, 'nil')?.trim();
  return nil === 'true' || nil === '1';
}

function instanceAttribute(element: XmlElement, name: string): string | undefined {
  return element.attributes.find(
    (attribute) => attribute.name === name && attribute.namespace === NAMESPACE.instance,
  )?.value;
}

/** The values that are there. */
export type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what was not said: an absent setting takes its default, `undefined` would not. */
export function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Present<T>;
}
