import type { SurfaceDependencies } from '../../shared/app/surface-dependencies.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Rule } from '../../shared/filters/rule.ts';

/** Returns the end of a lock, epoch ms, as clients are told. */
export function lockEndShown(
  { lockEndShown: shown }: Pick<AmqpDependencies, 'lockEndShown'>,
  lockedUntil: number,
): number {
  return shown === undefined ? lockedUntil : shown(lockedUntil);
}

/** The operations of the broker that AMQP has. */
export type AmqpBroker = Omit<Broker, 'operate' | 'resubmit' | 'purge'>;

/** The operations on the rules of a subscription; `path` is that of the subscription. Refusals as `RuleManagement`. */
export interface AmqpRules {
  create(path: string, rule: RuleInput): Promise<unknown>;
  delete(path: string, name: string): Promise<void>;
  list(
    path: string,
    page: { readonly skip: number; readonly top: number; readonly order: 'name' },
  ): Promise<{ readonly items: readonly { readonly stored: { readonly rule: Rule } }[] }>;
}

/** The dependencies of the AMQP server: the broker and authorization of every surface, and some for AMQP only. */
export interface AmqpDependencies extends Omit<SurfaceDependencies, 'broker'> {
  readonly broker: AmqpBroker;
  readonly rules: AmqpRules;
  readonly scheduler: Scheduler;
  /** Reports a fault of this service. Clients receive only the tracking id. */
  readonly reportFault: (error: unknown, trackingId?: string) => void;
  /**
   * Converts the end of a lock, epoch ms, to what clients are told; default: the same instant. Clients compare it with
   * the clock of their machine, so a namespace whose clock users move returns the instant by that clock.
   */
  readonly lockEndShown?: ((lockedUntil: number) => number) | undefined;
  /**
   * Every client may do everything: for clients in the process that serves them, which hold its credentials anyway.
   */
  readonly trustsClients?: true;
  /**
   * Requires a right where the namespace is, if that is elsewhere, in addition to the right of the client here. Throws
   * Unauthenticated, MessagingEntityNotFound, InvalidOperation.
   */
  readonly requireUpstream?: (path: EntityPath, rights: readonly AccessRight[]) => Promise<void>;
  /** Writes an entry to the access log for each link that is opened or refused. */
  readonly logAccess?:
    | ((kind: string, details: Readonly<Record<string, unknown>>) => void)
    | undefined;
}
