import type { AuthDependencies } from '../auth/sas-token.ts';
import type { SigningRule } from '../auth/signing-rule.ts';
import type { Broker } from '../broker/broker.ts';
import type { MemoryBudget } from '../domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { WorkTurns } from '../domain/turns/work-turns.ts';

/** The dependencies of every surface, HTTP or AMQP. */
export interface SurfaceDependencies extends AuthDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The memory that this process may use for requests and connections. */
  readonly memory: MemoryBudget;
  /** Gives long work for one request its turn of the event loop. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** The name of the namespace, as management returns it. */
  readonly namespace: string;
  /** Counts an operation of an authorization rule; throws ServiceBusy where the rule has used up its rate. */
  readonly countOperation?: ((rule: SigningRule) => void) | undefined;
}
