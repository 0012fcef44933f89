type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** A copy of an object without its undefined fields: an absent setting gets its default, an undefined one does not. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Present<T>;
}
