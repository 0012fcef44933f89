/** The parts of marshalled requests that contain keys. */
interface Keyed {
  readonly Key?: Key;
  readonly Item?: Key;
  readonly TransactItems?: readonly Readonly<Record<string, Keyed>>[];
  readonly RequestItems?: Readonly<
    Record<string, readonly Readonly<Record<string, Keyed>>[] | { readonly Keys?: readonly Key[] }>
  >;
  readonly ExpressionAttributeValues?: Readonly<Record<string, { readonly S?: string }>>;
}

interface Key {
  readonly pk?: { readonly S?: string };
}

/** The partition keys that a marshalled request names, one for each item of it, in order. */
export function collectionsOf(input: object): readonly string[] {
  const {
    Key,
    Item,
    TransactItems,
    RequestItems,
    ExpressionAttributeValues: values,
  } = input as Keyed;
  const key = Key ?? Item;
  if (key !== undefined) return [key.pk?.S ?? ''];
  if (TransactItems !== undefined) return TransactItems.flatMap(entriesOf);
  if (RequestItems !== undefined) {
    return Object.values(RequestItems).flatMap((request) =>
      'Keys' in request
        ? (request.Keys ?? []).map(({ pk }) => pk?.S ?? '')
        : (request as readonly Readonly<Record<string, Keyed>>[]).flatMap(entriesOf),
    );
  }
  return [values?.[':log']?.S ?? values?.[':pk']?.S ?? ''];
}

function entriesOf(entry: Readonly<Record<string, Keyed>>): readonly string[] {
  return Object.values(entry).flatMap(collectionsOf);
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\.\d+$/, 'partition header'],
  [/\.\d+[mdt]\d*$/, 'blocks'],
  [/\.\d+p\d*$/, 'payloads'],
];

/** The content of an item collection, as a word for reports. */
export function contentOf(pk: string): string {
  return KINDS.find(([pattern]) => pattern.test(pk))?.[1] ?? 'entities';
}
