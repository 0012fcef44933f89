/** The resource of a stack that declares something in the namespace. */
export interface DeclarationOwner {
  /** The ARN of the stack without its unique id, so that a stack of the same name owns it again. */
  readonly stack: string;
  /** The logical id of the resource in its stack. */
  readonly resource: string;
}

/** What a stack declares or has declared: an entity, or an authorization rule of one. */
export interface Declaration {
  /** The lower-case key of the entity, or `<key of the entity>/$authorizationrules/<name of the rule>`. */
  readonly key: string;
  /** The resource that declares it, or was the last to do so. */
  readonly owner: DeclarationOwner;
  /**
   * `held`: the owner declares it. `left`: the owner's creation was undone, and what it had found is there still.
   * `ended`: nobody declares it.
   */
  readonly state: 'held' | 'left' | 'ended';
  /** Whether a stack has made it. What somebody else has made is never deleted. */
  readonly isMadeByStack: boolean;
  /** While the deployment that made the owner its owner may still fail. */
  readonly taking?: Taking;
  /** When the owner last changed it, epoch ms. */
  readonly at: number;
  /** The ids of the latest events about it, the last one last. */
  readonly events: readonly string[];
}

/** What is undone if the deployment fails: the creation, or the taking over of what was there. */
export interface Taking {
  /** Who had it before, which may be the owner itself; absent = it was not there, or nobody had declared it. */
  readonly from?: DeclarationOwner;
  /** The rights that an authorization rule had before. */
  readonly rights?: readonly string[];
}

/** A declaration as it is stored. */
export interface StoredDeclaration extends Declaration {
  /** Differs after every write. */
  readonly stamp: string;
}

/** Keeps who declared what, so that no stack changes or deletes what another one has made. */
export interface DeclarationStore {
  /** The declaration as it is now. One that ended may be forgotten after a day. */
  read(key: string): Promise<StoredDeclaration | undefined>;
  /**
   * Writes a declaration if the stored one is still `before`; undefined = there was none. Returns whether it did. One
   * write unit.
   */
  write(declaration: Declaration, before: StoredDeclaration | undefined): Promise<boolean>;
}
