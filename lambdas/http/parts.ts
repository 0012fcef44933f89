import type { Broker } from '../../shared/broker/broker.ts';
import type { EntityStore } from '../../shared/broker/ports/ports.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import type { AuthorizationRule } from '../../shared/domain/entities/descriptions.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import type { ProvedRule } from './proved-rule.ts';
import type { TokenMemory } from './token-memory.ts';

/** What the HTTP routes are built from. Handlers choose the real parts, tests the ones they move. */
export interface HttpParts {
  readonly broker: Broker;
  readonly entities: EntityStore;
  readonly namespaceKeys: NamespaceKeys;
  readonly clock: Clock;
  /** When tokens expire: the time of the machine, also where users move `clock`. */
  readonly tokenClock: Clock;
  readonly random: RandomSource;
  /** What this process remembers of tokens. */
  readonly tokens: TokenMemory;
  /** What this process may hold for its peers. */
  readonly memory: MemoryBudget;
  /** When work for one request may begin that takes long. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** The name of the namespace, as management shows it. */
  readonly namespace: string;
  /** The longest a receive may wait for a message, ms; short where waiting is paid for. */
  readonly receiveWaitMsMax: number;
  /** What messages may take in one answer, bytes, as they are printed; absent = any number. */
  readonly answerBytesMax?: number | undefined;
  /** Counts an operation of a rule of shared access signatures; throws ServiceBusy beyond what it may do. */
  readonly admitRule?: ((rule: ProvedRule) => void) | undefined;
  /** Is told which rule gave a request a right, before what it does is counted. */
  readonly ruleProved?: ((request: Request, rule: ProvedRule) => void) | undefined;
}

/** The shared access policies that hold for the whole namespace. */
export interface NamespaceKeys {
  rules(): Promise<readonly AuthorizationRule[]>;
  /**
   * Other rules than those, for a token that names one of them and that none of their keys has signed: a key
   * may have been changed. Undefined where there are none, or where it is too early to look again; absent
   * where keys never change.
   */
  changedFrom?(
    tried: readonly AuthorizationRule[],
  ): Promise<readonly AuthorizationRule[] | undefined>;
}
