/** What a rule is about, and so by which part of the product it comes to hold. */
export type Kind =
  | 'queue'
  | 'topic'
  | 'forwarding'
  | 'session'
  | 'dedup'
  | 'transaction'
  | 'partition'
  | 'amqp'
  | 'management';

/** One thing that tests should pin: a behaviour of semantics §16, or a rule of its ledger. */
export interface Entry {
  /** As tests name it: `41`, `A2`, `E1`. */
  readonly id: string;
  readonly title: string;
  readonly kind: Kind;
}

export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** A section whose entries are all of one kind, unless an entry says another. */
export function section(
  title: string,
  kind: Kind,
  rows: readonly (readonly [id: string | number, title: string, kind?: Kind])[],
): Section {
  return {
    title,
    entries: rows.map(([id, what, other]) => ({
      id: String(id),
      title: what,
      kind: other ?? kind,
    })),
  };
}
