import type { ConsumerInput } from '../../domain/consumers/consumer-settings.ts';

/** The resource of a stack that declares something in the namespace. */
export interface DeclarationOwner {
  /** The ARN of the stack without its unique id, so that a stack of the same name owns it again. */
  readonly stack: string;
  /** The logical id of the resource in its stack. */
  readonly resource: string;
}

/** What a stack declares or has declared: an entity, or an authorization rule or a consumer of one. */
export interface Declaration {
  /**
   * The lower-case key of the entity, or `<key of the entity>/$authorizationrules/<name of the rule>`, or `<key of the
   * entity>/$consumers/<key of the consumer>`.
   */
  readonly key: string;
  /** The resource that declares it, or was the last to do so. */
  readonly owner: DeclarationOwner;
  /**
   * `held`: the owner declares it. `left`: the owner's creation was undone, and what is there stays. `ended`: nobody
   * declares it.
   */
  readonly state: 'held' | 'left' | 'ended';
  /** Whether a stack has made it. What somebody else has made is never deleted. */
  readonly isMadeByStack: boolean;
  /** Who had declared it before, and gets it back if it was there; absent = nobody had. */
  readonly former?: FormerOwner;
  /** When the owner last changed it, epoch ms. */
  readonly at: number;
  /** The ids of the latest events about it, the last one last. */
  readonly events: readonly string[];
  /** The ids of the latest events that had no effect, since it belonged to somebody else; absent = there were none. */
  readonly ignored?: readonly string[];
}

/** Who had what a resource has found or taken over. */
export interface FormerOwner {
  /** The owner itself, if it has found what an earlier creation of its own has left. */
  readonly owner: DeclarationOwner;
  /** The rights that an authorization rule had. */
  readonly rights?: readonly string[] | undefined;
  /** The settings that a consumer had. */
  readonly consumer?: ConsumerInput;
  /** Present if it had been deleted by hand, so that the owner has made it: when this one last changed it, epoch ms. */
  readonly missingAt?: number;
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
