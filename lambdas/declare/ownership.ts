import type {
  DeclarationOwner,
  DeclarationStore,
  StoredDeclaration,
} from '../../shared/broker/ports/declarations.ts';
import { argumentError, BrokerError } from '../../shared/domain/broker-error.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { MINUTE_MS } from '../../shared/domain/units.ts';

/**
 * How long a declaration protects a name under which nothing exists yet, ms: longer than the function takes to create
 * what it has declared.
 */
const UNMADE_MS = 5 * MINUTE_MS;

/** What a resource wants to make or change. */
export interface Claim {
  /** The key of the declaration. */
  readonly key: string;
  /** What it is, for sentences: `queue 'orders'`. */
  readonly title: string;
  readonly owner: DeclarationOwner;
  /** Whether it exists in the namespace. */
  readonly exists: boolean;
  /** Whether CloudFormation knows it as this resource's own. */
  readonly isOwn: boolean;
  readonly adoption: Adoption;
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

/**
 * Records that a resource owns what it is about to make or change; a retried event finds its own record and goes on.
 * Throws ArgumentError if it belongs to somebody else, ConflictInProgress if two resources claim it at once.
 */
export async function claim(
  { declarations, clock }: { readonly declarations: DeclarationStore; readonly clock: Clock },
  wanted: Claim,
): Promise<void> {
  const { key, owner, title } = wanted;
  const found = await declarations.read(key);
  const at = clock.now();
  const fault = ownershipFault(found, wanted, at);
  if (fault !== undefined) throw argumentError(fault);
  const adoptedFrom = adoptedBy(found, wanted);
  const declaration = { key, owner, at, ...(adoptedFrom !== undefined && { adoptedFrom }) };
  if (await declarations.write(declaration, found)) return;
  throw new BrokerError(
    'ConflictInProgress',
    `Another resource is declaring ${title} at the same time.`,
  );
}

/** From whom the owner has what it declares; undefined = it makes it, or has made it. */
function adoptedBy(
  found: StoredDeclaration | undefined,
  { owner, exists, isOwn }: Claim,
): StoredDeclaration['adoptedFrom'] {
  if (found === undefined) return exists && !isOwn ? 'nobody' : undefined;
  if (isSameOwner(found.owner, owner)) return found.adoptedFrom;
  // CloudFormation itself has moved a resource that it knows.
  return exists && !isOwn ? found.owner : undefined;
}

/**
 * Ends what a resource declares. `remove` deletes it, and is called only if the resource has made it: what it had taken
 * over goes back to whoever had it, because a deployment that failed ends like one that removes the resource.
 */
export async function disown(
  { declarations, clock }: { readonly declarations: DeclarationStore; readonly clock: Clock },
  key: string,
  owner: DeclarationOwner,
  remove: () => Promise<void>,
): Promise<void> {
  const found = await declarations.read(key);
  if (found === undefined) return;
  const { adoptedFrom } = found;
  if (!isSameOwner(found.owner, owner)) {
    const isFormer = typeof adoptedFrom === 'object' && isSameOwner(adoptedFrom, owner);
    // The former owner is gone, so it has moved for good.
    if (isFormer) await declarations.write({ key, owner: found.owner, at: found.at }, found);
    return;
  }
  if (typeof adoptedFrom === 'object') {
    await declarations.write({ key, owner: adoptedFrom, at: clock.now() }, found);
    return;
  }
  if (adoptedFrom === undefined) await remove();
  await declarations.remove(found);
}

/** Why a resource may not make or change something; undefined = it may. `now` = epoch ms. */
export function ownershipFault(
  found: StoredDeclaration | undefined,
  { title, owner, exists, isOwn, adoption: { adopts, moves = adopts, from } }: Claim,
  now: number,
): string | undefined {
  if (found !== undefined && isSameOwner(found.owner, owner)) return undefined;
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
  return `The ${title} is declared by ${by} too: choose another name, or, if it has moved to another place of the stack, set adopt for this deployment.`;
}

/** Whether two owners are the same resource. */
export function isSameOwner(one: DeclarationOwner, other: DeclarationOwner): boolean {
  return one.stack === other.stack && one.resource === other.resource;
}

/** The name of a stack in its ARN, `arn:aws:cloudformation:eu-west-1:111122223333:stack/NAME`. */
function stackName({ stack }: DeclarationOwner): string {
  return stack.replace(/^.*\//, '');
}
