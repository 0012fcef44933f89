import type { Shape } from './shapes.ts';
import type { AttributeTypes } from './value-types.ts';

/**
 * A change of a block names its slots by letters, so each set of slots makes another expression. This module
 * reduces them to few expressions: it keeps the first slots of each kind of change, under new letters.
 */

/** How many of the slots that a request treats alike are kept. */
const ALIKE_MAX = 2;
/** How many slots are kept in all. */
const SLOTS_MAX = 3;

const SLOT = /#_(\w)/g;
const NUMBERED = /:v\d+/g;
/** The AND between two conditions, not the one between the bounds of BETWEEN. */
const AND = / AND (?!:)/;
/** The comma between two changes, not the one within a function. */
const COMMA = /, (?![^(]*\))/;
const SECTION = /(?:^| )(SET|REMOVE|ADD|DELETE) /;

interface Expressions {
  readonly conditions: readonly string[];
  /** The changes, by section. */
  readonly changes: ReadonlyMap<string, readonly string[]>;
}

/** Reduces the slots in the shape of a change of a block; returns any other shape unchanged. */
export function withFewSlots<Given extends Shape>(shape: Given): Given {
  const { ConditionExpression: condition = '', UpdateExpression: update = '' } =
    shape.fields as Readonly<Record<string, string>>;
  const letters = [
    ...new Set([...`${condition} ${update}`.matchAll(SLOT)].map(([, slot]) => slot)),
  ];
  if (letters.length === 0) return shape;
  const split = { conditions: condition.split(AND), changes: sectionsOf(update) };
  const values = shape.values ?? {};
  const alike = new Map<string, number>();
  const kept = letters
    .filter((letter = '') => {
      const signature = signatureOf(split, letter, values);
      const count = (alike.get(signature) ?? 0) + 1;
      alike.set(signature, count);
      return count <= ALIKE_MAX;
    })
    .slice(0, SLOTS_MAX);
  const isKept = (clause: string) =>
    [...clause.matchAll(SLOT)].every(([, letter]) => kept.includes(letter));
  const slotNames = new Map(kept.map((letter, i) => [letter, String.fromCharCode(97 + i)]));
  const renamed = (text: string) =>
    text.replaceAll(SLOT, (_, letter: string) => `#_${slotNames.get(letter)}`);
  return withExpressions(
    shape,
    renamed(split.conditions.filter(isKept).join(' AND ')),
    renamed(
      [...split.changes]
        .map(([section, clauses]) => [section, clauses.filter(isKept)] as const)
        .flatMap(([section, clauses]) =>
          clauses.length ? [`${section} ${clauses.join(', ')}`] : [],
        )
        .join(' '),
    ),
  );
}

function sectionsOf(update: string): ReadonlyMap<string, readonly string[]> {
  const [, ...parts] = update.split(SECTION);
  const sections = new Map<string, readonly string[]>();
  for (let i = 0; i < parts.length; i += 2) {
    sections.set(parts[i] ?? '', (parts[i + 1] ?? '').split(COMMA));
  }
  return sections;
}

/** What a request does with a slot, with which types of values. */
function signatureOf(
  { conditions, changes }: Expressions,
  letter: string,
  values: AttributeTypes,
): string {
  const clauses = [...conditions, ...[...changes].flatMap(([section, all]) => [section, ...all])];
  return clauses
    .filter((clause) => clause.includes(`#_${letter}`) || !clause.includes(' '))
    .map((clause) => clause.replaceAll(`#_${letter}`, '#_'))
    .filter((clause) => !clause.includes('#_') || !/#_\w/.test(clause))
    .map((clause) => clause.replaceAll(NUMBERED, (value) => JSON.stringify(values[value])))
    .join();
}

/** The shape with reduced expressions, and with only the names and values that they use. */
function withExpressions<Given extends Shape>(
  shape: Given,
  condition: string,
  update: string,
): Given {
  const order = [...new Set(`${condition} ${update}`.match(NUMBERED) ?? [])];
  const numbered = (text: string) =>
    text.replaceAll(NUMBERED, (value) => `:v${order.indexOf(value)}`);
  const all = `${condition} ${update}`;
  const names = (shape.fields['ExpressionAttributeNames'] ?? {}) as Record<string, string>;
  const used = [...new Set(all.match(/#\w+/g) ?? [])].sort();
  const values = Object.entries(shape.values ?? {}).flatMap(([name, types]) => {
    if (!new RegExp(`${name}\\b`).test(all)) return [];
    return [[order.includes(name) ? `:v${order.indexOf(name)}` : name, types] as const];
  });
  const { ConditionExpression: _, UpdateExpression: __, ...fields } = shape.fields;
  return {
    ...shape,
    fields: {
      ...fields,
      ...(condition && { ConditionExpression: numbered(condition) }),
      ...(update && { UpdateExpression: numbered(update) }),
      ExpressionAttributeNames: Object.fromEntries(
        used.map((name) => [name, name.startsWith('#_') ? name.slice(2) : names[name]]),
      ),
    },
    ...(values.length > 0 ? { values: Object.fromEntries(values) } : { values: undefined }),
  };
}
