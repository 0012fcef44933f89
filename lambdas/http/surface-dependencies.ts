import type { Broker } from '../../shared/broker/broker.ts';
import type { EntityStore } from '../../shared/broker/ports/ports.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import type { NamespaceKeys } from './namespace-keys.ts';
import type { ProvedRule } from './proved-rule.ts';
import type { TokenMemory } from './token-memory.ts';

/** What every surface, HTTP or AMQP, is built from. */
export interface SurfaceDependencies {
  readonly broker: Broker;
  readonly entities: EntityStore;
  readonly namespaceKeys: NamespaceKeys;
  readonly clock: Clock;
  /** Decides when tokens expire: the time of the machine, also where users move `clock`. */
  readonly tokenClock: Clock;
  readonly random: RandomSource;
  /** What this process remembers of tokens. */
  readonly tokens: TokenMemory;
  /** What this process may hold for its peers. */
  readonly memory: MemoryBudget;
  /** Decides when long work for one request may begin. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** The name of the namespace, as management shows it. */
  readonly namespace: string;
  /** Counts an operation of a shared access rule; throws ServiceBusy beyond what the rule may do. */
  readonly admitRule?: ((rule: ProvedRule) => void) | undefined;
}
