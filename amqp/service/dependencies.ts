import type { SurfaceDependencies } from '../../shared/app/surface-dependencies.ts';
import type { RuleManagement } from '../../shared/broker/management/rules.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';

/** What the gateway is built from: the same broker as every other transport, and who may do what. */
export interface GatewayDependencies extends SurfaceDependencies {
  readonly rules: RuleManagement;
  readonly scheduler: Scheduler;
  /** Told of faults of our own, of which clients learn nothing but the tracking id. */
  readonly reportFault: (error: unknown, trackingId?: string) => void;
  /** Told of each link that is opened or refused. */
  readonly logAccess?:
    | ((kind: string, details: Readonly<Record<string, unknown>>) => void)
    | undefined;
}
