import type { DeclarationStore } from '../../shared/broker/ports/declarations.ts';
import { argumentError, BrokerError } from '../../shared/domain/broker-error.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import {
  type Claim,
  type Claimant,
  claimed,
  isLatest,
  type Release,
  released,
} from './ownership.ts';

interface ClaimDependencies {
  readonly declarations: DeclarationStore;
  readonly clock: Clock;
}

/**
 * Records that a resource owns what it is about to make or change, or that its event was refused; a repeated event
 * finds its own record and goes on. Returns whether the event is a repeated one. Throws ArgumentError if it belongs to
 * somebody else, ConflictInProgress if two resources claim it at once. One read unit, one write unit.
 */
export async function claim(
  { declarations, clock }: ClaimDependencies,
  wanted: Claim,
): Promise<boolean> {
  const found = await declarations.read(wanted.key);
  const { declaration, fault } = claimed(found, wanted, clock.now());
  if (!(await declarations.write(declaration, found))) throw changedMeanwhile(wanted.title);
  if (fault !== undefined) throw argumentError(fault);
  return isLatest(found, wanted.event);
}

/** Whether a resource still has what it has claimed by this event. One read unit. */
export async function isHeld(
  { declarations }: ClaimDependencies,
  key: string,
  { event }: Claimant,
): Promise<boolean> {
  const found = await declarations.read(key);
  return found?.state === 'held' && isLatest(found, event);
}

/** Carries out what a release asks for. Both may be called again. */
export interface Undoing {
  /** Deletes what the resource has made. */
  readonly remove: () => Promise<void>;
  /** Gives an authorization rule the rights that it had. */
  readonly restore?: (rights: NonNullable<Release['rights']>) => Promise<void>;
  /** Gives a consumer the settings that it had. */
  readonly restoreConsumer?: (settings: NonNullable<Release['consumer']>) => Promise<void>;
}

/**
 * Ends what a resource declares, as `released` decides. Throws ConflictInProgress if it changes hands at the same time,
 * and what `undoing` throws; the same call again goes on.
 */
export async function disown(
  { declarations, clock }: ClaimDependencies,
  key: string,
  claimant: Claimant & { readonly leaves: boolean },
  { remove, restore, restoreConsumer }: Undoing,
): Promise<void> {
  const found = await declarations.read(key);
  const release = released(found, claimant, clock.now());
  if (release === undefined) return;
  if (release.isDeletion) await remove();
  if (release.rights !== undefined) await restore?.(release.rights);
  if (release.consumer !== undefined) await restoreConsumer?.(release.consumer);
  if (!(await declarations.write(release.declaration, found))) throw changedMeanwhile(`'${key}'`);
}

function changedMeanwhile(title: string): BrokerError {
  return new BrokerError(
    'ConflictInProgress',
    `Another resource is declaring ${title} at the same time.`,
  );
}
