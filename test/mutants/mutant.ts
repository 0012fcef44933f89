/** The modules in which bugs are planted: folders of `shared`. */
export type Room = 'domain' | 'broker' | 'storage';

/** One change of the product's text. */
export interface Edit {
  /**
   * What stands there. Must occur exactly once in the product. White space, line breaks, comments and
   * trailing commas do not count, so that formatting may change.
   */
  readonly find: string;
  /** What is put in its place. */
  readonly replace: string;
}

/** A bug that the simulation must find. */
export interface Mutant extends Edit {
  /** What is broken, as a clause. No two mutants have the same name. */
  readonly name: string;
  readonly room: Room;
  /** Further changes that the bug needs. */
  readonly also?: readonly Edit[];
  /** What clients see. */
  readonly harm: string;
  /** What clients must do, and what must go wrong, before they see it. */
  readonly needs: string;
}
