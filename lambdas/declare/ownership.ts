import type {
  Declaration,
  DeclarationOwner,
  FormerOwner,
  StoredDeclaration,
} from '../../shared/broker/ports/declarations.ts';
import { argumentError } from '../../shared/domain/broker-error.ts';
import type { ConsumerInput } from '../../shared/domain/consumers/consumer-settings.ts';
import { MINUTE_MS } from '../../shared/domain/units.ts';

/**
 * How long a declaration protects a name under which nothing exists yet, ms: longer than the function takes to create
 * what it has declared.
 */
const UNMADE_MS = 20 * MINUTE_MS;
/**
 * The events that a declaration remembers, and as many that had no effect. CloudFormation has one under way; Lambda
 * repeats it for some minutes.
 */
const EVENTS_MAX = 5;

/** What a resource wants to make or change. */
export interface Claim extends Claimant {
  /** The key of the declaration. */
  readonly key: string;
  /** What it is, for sentences: `queue 'orders'`. */
  readonly title: string;
  /** Whether it exists in the namespace. */
  readonly exists: boolean;
  /** The key by which CloudFormation knows the resource; absent = it creates it. */
  readonly known: string | undefined;
  readonly adoption: Adoption;
  /** The rights that an authorization rule has. */
  readonly rights?: readonly string[] | undefined;
  /** The settings that a consumer has. */
  readonly consumer?: ConsumerInput | undefined;
}

/** Who wants something, and by which event. */
export interface Claimant {
  readonly owner: DeclarationOwner;
  /** The id of the event, the same if it comes again. */
  readonly event: string;
}

/** What a resource takes over where it exists. */
export interface Adoption {
  /** What belongs to no other stack. */
  readonly adopts: boolean;
  /** What another resource of the same stack has declared, which then has moved; default: as `adopts`. */
  readonly moves?: boolean;
  /** What the stack of this name has declared, which may be gone. */
  readonly from?: string;
}

/** Whether a resource may make or change something. */
export interface Decision {
  /** What to store before it does, or where it may not. */
  readonly declaration: Declaration;
  /** Why it may not, such as that it belongs to another stack; absent = it may. */
  readonly fault?: string;
}

/**
 * Decides whether a resource may make or change something. An event that comes again gets what it has stored. Throws
 * ArgumentError for an event after which another one came, and for one that has failed. `now` = epoch ms.
 */
export function claimed(
  found: StoredDeclaration | undefined,
  wanted: Claim,
  now: number,
): Decision {
  const { key, owner, event, exists } = wanted;
  if (isOutdated(found, event)) {
    throw argumentError('CloudFormation has sent a later event about this resource.');
  }
  const before = found?.state === 'ended' ? undefined : found;
  const isOwners = before !== undefined && isSameOwner(before.owner, owner);
  if (isLatest(found, event)) {
    if (isOwners && before.state === 'held') {
      return { declaration: { ...declarationOf(before), at: now } };
    }
    throw argumentError('This event has failed already, and what it did was undone.');
  }
  const fault = isOwners ? undefined : ownershipFault(before, wanted, now);
  if (fault !== undefined) {
    const none = { key, owner, state: 'ended', isMadeByStack: false, at: now, events: [] } as const;
    return { declaration: ignoring(found ?? none, event, now), fault };
  }
  // CloudFormation has been told so, and would not learn what the event makes now.
  if (found?.ignored?.includes(event)) throw argumentError('This event was refused already.');
  const former = before && (exists ? formerOf(before, wanted) : formerOfMissing(before, wanted));
  const declaration: Declaration = {
    key,
    owner,
    state: 'held',
    isMadeByStack: !exists || (before?.isMadeByStack ?? false),
    ...(former !== undefined && { former }),
    at: now,
    events: withEvent(found?.events, event),
    ...(found?.ignored && { ignored: found.ignored }),
  };
  return { declaration };
}

/** Who gets back what a resource claims, if CloudFormation deletes the resource; undefined = it is its own. */
function formerOf(
  before: StoredDeclaration,
  { key, owner, known, rights, consumer }: Claim,
): FormerOwner | undefined {
  if (isSameOwner(before.owner, owner)) {
    // An authorization rule or a consumer is never retained, so its owner had it all the time.
    const isRetained = rights === undefined && consumer === undefined;
    const isKept = before.state === 'held' && (known === key || !isRetained);
    return isKept ? before.former : { owner };
  }
  // CloudFormation itself has moved a resource that it knows.
  if (known === key) return undefined;
  return { owner: before.owner, rights, ...(consumer && { consumer }) };
}

/**
 * Who else in the stack had what was deleted by hand and is made anew: that resource may get another name in the same
 * deployment, and finds it when a rollback undoes this.
 */
function formerOfMissing(
  { owner: former, state, at }: StoredDeclaration,
  { owner }: Claim,
): FormerOwner | undefined {
  const isOther = state === 'held' && former.stack === owner.stack && !isSameOwner(former, owner);
  return isOther ? { owner: former, missingAt: at } : undefined;
}

/** What to do when a resource no longer declares something. */
export interface Release {
  readonly declaration: Declaration;
  /** Whether to delete it, before the declaration is stored. */
  readonly isDeletion: boolean;
  /** The rights that an authorization rule gets back. */
  readonly rights?: readonly string[] | undefined;
  /** The settings that a consumer gets back. */
  readonly consumer?: ConsumerInput | undefined;
}

/**
 * Ends what a resource declares: CloudFormation sends the same event for a resource that is removed and for one whose
 * creation is undone because a deployment fails. So only what the resource has made is deleted; what it has found or
 * taken over goes back. `leaves` = whether what it has made stays, too. undefined = nothing was ever declared, or the
 * event came already. `now` = epoch ms.
 */
export function released(
  found: StoredDeclaration | undefined,
  { owner, event, leaves }: Claimant & { readonly leaves: boolean },
  now: number,
): Release | undefined {
  if (found === undefined || isOutdated(found, event)) return undefined;
  if (found.ignored?.includes(event)) return undefined;
  const nothing = { declaration: ignoring(found, event, now), isDeletion: false };
  if (found.state !== 'held') return isLatest(found, event) ? undefined : nothing;
  const { former, ...settled } = declarationOf(found);
  const events = withEvent(found.events, event);
  if (!isSameOwner(found.owner, owner)) {
    // The former owner is removed, so its entity has moved for good.
    const isFormer = former !== undefined && isSameOwner(former.owner, owner);
    return isFormer ? { declaration: { ...settled, events }, isDeletion: false } : nothing;
  }
  const next = { ...settled, events, at: now };
  if (former !== undefined && former.missingAt === undefined) {
    const state = isSameOwner(former.owner, owner) ? 'left' : 'held';
    const declaration = { ...next, owner: former.owner, state } as const;
    const { rights, consumer } = former;
    return { declaration, isDeletion: false, rights, ...(consumer && { consumer }) };
  }
  if (leaves) return { declaration: { ...next, state: 'left' }, isDeletion: false };
  // What was missing is missing again.
  const missing = former && {
    owner: former.owner,
    state: 'held' as const,
    at: former.missingAt ?? now,
  };
  const declaration = { ...next, ...(missing ?? { state: 'ended' as const }) };
  return { declaration, isDeletion: found.isMadeByStack };
}

/** Why a resource may not make or change what it does not own; undefined = it may. */
function ownershipFault(
  found: StoredDeclaration | undefined,
  { title, key, owner, exists, known, adoption: { adopts, moves = adopts, from } }: Claim,
  now: number,
): string | undefined {
  const isOwn = known === key;
  if (found === undefined) {
    if (!exists || isOwn || adopts) return undefined;
    return `There is a ${title} already, and no stack has declared it: set adopt to take it over as it is, choose another name, or refer to it by fromName.`;
  }
  const by = `${found.owner.resource} of the stack ${stackName(found.owner)}`;
  if (!exists) {
    // The owner may be about to create it; later, it was deleted by hand.
    if (now - found.at >= UNMADE_MS) return undefined;
    return `The ${title} is being declared by ${by}: choose another name, or deploy again in ${UNMADE_MS / MINUTE_MS} minutes.`;
  }
  if (found.owner.stack !== owner.stack) {
    if (stackName(found.owner) === from) return undefined;
    return `The ${title} belongs to ${by}: choose another name, refer to it by fromName, or, if that stack is gone, set adoptFrom to its name.`;
  }
  if (isOwn || moves) return undefined;
  // A rollback undoes a change of the name before it undoes that another resource took the old name over.
  const { former } = found;
  if (known !== undefined && former && isSameOwner(former.owner, owner)) return undefined;
  return `The ${title} is declared by ${by} too: choose another name, or, if it has moved to another place of the stack, set adopt for this deployment.`;
}

/** Whether a later event came after this one, which Lambda repeats. */
function isOutdated(found: StoredDeclaration | undefined, event: string): boolean {
  return found?.events.slice(0, -1).includes(event) ?? false;
}

/** Whether no other event came after this one. */
export function isLatest(found: StoredDeclaration | undefined, event: string): boolean {
  return found?.events.at(-1) === event;
}

function withEvent(events: readonly string[] | undefined, event: string): readonly string[] {
  const others = events?.filter((one) => one !== event) ?? [];
  return [...others, event].slice(-EVENTS_MAX);
}

/** What is declared, as before, and the event as one that had no effect. `now` = epoch ms. */
function ignoring(
  { stamp: _, ...declared }: Declaration & Partial<StoredDeclaration>,
  event: string,
  now: number,
): Declaration {
  const at = declared.state === 'ended' ? now : declared.at;
  return { ...declared, at, ignored: withEvent(declared.ignored, event) };
}

function declarationOf({ stamp: _, ...declaration }: StoredDeclaration): Declaration {
  return declaration;
}

function isSameOwner(one: DeclarationOwner, other: DeclarationOwner): boolean {
  return one.stack === other.stack && one.resource === other.resource;
}

/** The name of a stack in its ARN, `arn:aws:cloudformation:eu-west-1:111122223333:stack/NAME`. */
function stackName({ stack }: DeclarationOwner): string {
  return stack.replace(/^.*\//, '');
}
