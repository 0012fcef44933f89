import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseDuration } from '../../../shared/domain/duration.ts';
import { NAMESPACE } from './namespaces.ts';
import type { XmlElement } from './xml.ts';

/**
 * Reads the elements of a description by name, in any order. Other elements are ignored, so that a client may
 * send back the description that it received. An element with `i:nil` counts as absent. An empty element is
 * refused, except where text is expected: there it counts as absent, which is how clients remove a forward or
 * the user metadata.
 */
export class ElementFields {
  readonly #element: XmlElement;

  constructor(element: XmlElement) {
    this.#element = element;
  }

  /** The text, untrimmed; undefined where it is empty. Throws ArgumentError. */
  text(name: string): string | undefined {
    return this.#scalar(name) || undefined;
  }

  /** A boolean. Throws ArgumentError. */
  boolean(name: string): boolean | undefined {
    return this.#parsed(name, 'true or false', (text) => BOOLEANS[text.toLowerCase()]);
  }

  /** An integer; the rules of entities check its bounds. Throws ArgumentError. */
  integer(name: string): number | undefined {
    return this.#parsed(name, 'a whole number', (text) =>
      INTEGER.test(text) ? Number(text) : undefined,
    );
  }

  /** A duration, ms; Infinity = unlimited. Throws ArgumentError. */
  duration(name: string): number | undefined {
    return this.#parsed(name, 'a duration', (text) => parseDuration(text, name) ?? Infinity);
  }

  /** One of `words`. Throws ArgumentError. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    return this.#parsed(name, `one of ${words.join(', ')}`, (text) =>
      words.find((word) => word === text),
    );
  }

  /**
   * The child with a name; undefined where it is absent or nil. Throws ArgumentError where there are
   * several.
   */
  child(name: string): XmlElement | undefined {
    const [child, ...others] = this.children(name);
    if (others.length > 0)
      throw argumentError(`The element '${name}' occurs ${others.length + 1} times.`);
    return child;
  }

  /** The children with a name that are not nil. */
  children(name: string): readonly XmlElement[] {
    return this.#element.children.filter(
      (child) => child.name === name && child.namespace === NAMESPACE.description && !isNil(child),
    );
  }

  #scalar(name: string): string | undefined {
    const child = this.child(name);
    if (child === undefined) return undefined;
    if (child.children.length > 0)
      throw argumentError(`The element '${name}' must hold only text.`);
    return child.text;
  }

  #parsed<T>(name: string, what: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.#scalar(name)?.trim();
    if (text === undefined) return undefined;
    const value = text === '' ? undefined : parse(text);
    if (value !== undefined) return value;
    throw argumentError(
      text === ''
        ? `The element '${name}' is empty; omit it to use its default.`
        : `The value '${text.slice(0, 64)}' of ${name} is not ${what}.`,
    );
  }
}

const INTEGER = /^[+-]?\d{1,19}$/;
const BOOLEANS: Readonly<Record<string, boolean | undefined>> = Object.assign(Object.create(null), {
  true: true,
  false: false,
  1: true,
  0: false,
});

/** The local name of the type in `i:type`, whatever the prefixes of the attribute and of its value. */
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
