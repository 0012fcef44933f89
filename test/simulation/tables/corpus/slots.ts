import type { Shape } from './shapes.ts';
import type { AttributeTypes } from './value-types.ts';

/**
 * Changes of blocks name their slots by letters, and as many as there are: each set of slots is an expression of
 * its own. Here they become few expressions: the first slots of every kind of change stay, under new letters.
 */

/** So many slots stay of those that a request treats alike: more are only more of the same. */
const ALIKE_MAX = 2;
/** And so many of all. */
const SLOTS_MAX = 3;

const SLOT = /#_(\w)/g;
const NUMBERED = /:v\d+/g;
/** Between two conditions, though not between the bounds of one. */
const AND = / AND (?!:)/;
const SECTION = /(?:^| )(SET|REMOVE|ADD|DELETE) /;

interface Expressions {
  readonly conditions: readonly string[];
  /** Changes by the section they stand in. */
  readonly changes: ReadonlyMap<string, readonly string[]>;
}

/** The shape of a change of a block, with few slots; any other shape as it is. */
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
    sections.set(parts[i] ?? '', (parts[i + 1] ?? '').split(', '));
  }
  return sections;
}

/** What a request does with a slot, and with which types of values. */
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

/** The shape with other expressions, which use fewer names and values. */
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
