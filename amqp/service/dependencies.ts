import type { SurfaceDependencies } from '../../shared/app/surface-dependencies.ts';
import type { RuleManagement } from '../../shared/broker/management/rules.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';

/** Returns the end of a lock, epoch ms, as clients are told. */
export function lockEndShown(
  { lockEndShown: shown }: Pick<AmqpDependencies, 'lockEndShown'>,
  lockedUntil: number,
): number {
  return shown === undefined ? lockedUntil : shown(lockedUntil);
}

/** The dependencies of the AMQP server: the broker and authorization of every surface, and some for AMQP only. */
export interface AmqpDependencies extends SurfaceDependencies {
  readonly rules: RuleManagement;
  readonly scheduler: Scheduler;
  /** Reports a fault of this service. Clients receive only the tracking id. */
  readonly reportFault: (error: unknown, trackingId?: string) => void;
  /**
   * Converts the end of a lock, epoch ms, to what clients are told; default: the same instant. Clients compare it with
   * the clock of their machine, so a namespace whose clock users move returns the instant by that clock.
   */
  readonly lockEndShown?: ((lockedUntil: number) => number) | undefined;
  /** Writes an entry to the access log for each link that is opened or refused. */
  readonly logAccess?:
    | ((kind: string, details: Readonly<Record<string, unknown>>) => void)
    | undefined;
}
