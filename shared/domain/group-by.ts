/** Groups entries by a key, in the order of the first entry of each key. `Map.groupBy` is not in Node.js 20. */
export function groupBy<Entry, Key>(
  entries: Iterable<Entry>,
  keyOf: (entry: Entry) => Key,
): Map<Key, Entry[]> {
  const groups = new Map<Key, Entry[]>();
  for (const entry of entries) addTo(groups, keyOf(entry), entry);
  return groups;
}

/** Adds an entry to the group of its key. */
export function addTo<Entry, Key>(groups: Map<Key, Entry[]>, key: Key, entry: Entry): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [entry]);
  else group.push(entry);
}
