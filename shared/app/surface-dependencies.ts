import type { ProvedRule } from '../auth/proved-rule.ts';
import type { AuthDependencies } from '../auth/sas-token.ts';
import type { Broker } from '../broker/broker.ts';
import type { MemoryBudget } from '../domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { WorkTurns } from '../domain/turns/work-turns.ts';

/** What every surface, HTTP or AMQP, is built from. */
export interface SurfaceDependencies extends AuthDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** What this process may hold for its peers. */
  readonly memory: MemoryBudget;
  /** Decides when long work for one request may begin. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** The name of the namespace, as management shows it. */
  readonly namespace: string;
  /** Counts an operation of a shared access rule; throws ServiceBusy beyond what the rule may do. */
  readonly admitRule?: ((rule: ProvedRule) => void) | undefined;
}
