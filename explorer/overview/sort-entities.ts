import { deadLettersOf, type ShownEntity } from '../namespace/entity.ts';

/** What the overview is sorted by. */
export type SortKey =
  | 'attention'
  | 'name'
  | 'active'
  | 'scheduled'
  | 'deferred'
  | 'transfer'
  | 'size';

/** Which entities are shown. */
export interface EntityFilter {
  /** Part of the name, in any case. */
  readonly text: string;
  readonly onlyDeadLetters: boolean;
}

/** The entities that a filter lets through, in order: `attention` = the most dead letters first. */
export function arrange(
  entities: readonly ShownEntity[],
  { text, onlyDeadLetters }: EntityFilter,
  by: SortKey,
): readonly ShownEntity[] {
  const part = text.trim().toLowerCase();
  const shown = entities.filter(
    (entity) =>
      (part === '' || entity.name.toLowerCase().includes(part)) &&
      (!onlyDeadLetters || deadLettersOf(entity) > 0),
  );
  const weight = WEIGHTS[by];
  if (weight === undefined) return shown.sort(byName);
  return shown.sort((a, b) => weight(b) - weight(a) || byName(a, b));
}

const WEIGHTS: Readonly<Partial<Record<SortKey, (entity: ShownEntity) => number>>> = {
  attention: deadLettersOf,
  active: ({ active }) => active,
  scheduled: ({ scheduled }) => scheduled,
  deferred: ({ deferred }) => deferred,
  transfer: ({ transferDeadLetter }) => transferDeadLetter,
  size: ({ sizeInBytes }) => sizeInBytes,
};

const COLLATOR = new Intl.Collator('en', { numeric: true });
const byName = (a: ShownEntity, b: ShownEntity) => COLLATOR.compare(a.name, b.name);
