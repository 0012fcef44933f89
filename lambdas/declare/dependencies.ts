import type { Management } from '../../shared/broker/management/management.ts';
import type { DeclarationStore } from '../../shared/broker/ports/declarations.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Parameters } from './parameters.ts';

/** What the custom resources work with. */
export interface DeclareDependencies {
  readonly management: Management;
  readonly declarations: DeclarationStore;
  readonly parameters: Parameters;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly scheduler: Scheduler;
}
