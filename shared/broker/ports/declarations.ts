/** The resource of a stack that declares something in the namespace. */
export interface DeclarationOwner {
  /** The ARN of the stack without its unique id, so that a stack of the same name owns it again. */
  readonly stack: string;
  /** The logical id of the resource in its stack. */
  readonly resource: string;
}

/** What a stack declares: an entity, or an authorization rule of one. */
export interface Declaration {
  /** The lower-case key of the entity, or `<key of the entity>/$authorizationrules/<name of the rule>`. */
  readonly key: string;
  readonly owner: DeclarationOwner;
  /** When the owner last created or updated it, epoch ms. */
  readonly at: number;
  /** Who had it when the owner took it over: another resource, or nobody. Absent = the owner has made it. */
  readonly adoptedFrom?: DeclarationOwner | 'nobody';
}

/** A declaration as it is stored. */
export interface StoredDeclaration extends Declaration {
  /** Differs after every write. */
  readonly stamp: string;
}

/** Keeps who declared what, so that no stack changes or deletes what another one has made. */
export interface DeclarationStore {
  /** The declaration as it is now. */
  read(key: string): Promise<StoredDeclaration | undefined>;
  /**
   * Writes a declaration if the stored one is still `before`; undefined = there was none. Returns whether it did. One
   * write unit.
   */
  write(declaration: Declaration, before: StoredDeclaration | undefined): Promise<boolean>;
  /** Removes a declaration if it is still the stored one. One write unit. */
  remove(declaration: StoredDeclaration): Promise<void>;
}
