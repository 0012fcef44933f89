type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Returns a copy of an object without the fields that are undefined. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Present<T>;
}
