import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { answerEvent } from '../../../lambdas/declare/cloud-formation.ts';
import type { DeclareDependencies } from '../../../lambdas/declare/dependencies.ts';
import type { Parameters } from '../../../lambdas/declare/parameters.ts';
import { ALL_FUNCTIONS } from '../../../shared/app/allowed-targets.ts';
import { composeDeclarations } from '../../../shared/app/compose-declarations.ts';
import { LEASE_MS } from '../../../shared/app/leases.ts';
import { realRandom } from '../../../shared/app/real-random.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { keyParameterName, type RuleOfEntity } from '../../../shared/config/key-parameter.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import type { UnitMeter } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import type { SimulatedClients } from '../../simulation/tables/client.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { engineClient, TABLES, tablesExist } from '../../support/start-broker.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { type Answer, FakeStack } from './stack.ts';

/** A namespace whose entities stacks declare. */
export interface Declaring extends Omit<DeclareDependencies, 'parameters'> {
  readonly clock: ManualClock;
  readonly parameters: FakeParameters;
  /** Answers an event as the function does. */
  readonly answer: Answer;
  /** A stack of this namespace. `answer` = what answers its events, if not the function. */
  stack(name: string, answer?: Answer): FakeStack;
}

/** What starts a namespace with something else than usual. */
export interface DeclaringOptions {
  readonly client?: DynamoDBClient;
  /** Tables in memory, many times as fast as those of the engine. */
  readonly simulated?: SimulatedClients;
  readonly namespace?: string;
  readonly tier?: Tier;
  readonly parameters?: FakeParameters;
  /** Counts capacity units. */
  readonly meter?: UnitMeter;
}

/** Pauses before a repetition are over at once. */
const AT_ONCE: Scheduler = {
  ...realScheduler,
  after: (_, work) => {
    realScheduler.soon(work);
    return { cancel: () => {} };
  },
};

/** Starts a new namespace on the engine. */
export async function startDeclaring(
  t: TestContext,
  { tier = 'Standard', ...options }: DeclaringOptions = {},
): Promise<Declaring> {
  if (options.simulated === undefined) await tablesExist();
  const client = options.client ?? options.simulated?.client ?? engineClient();
  if (options.client === undefined) t.after(() => client.destroy());
  const clock = new ManualClock();
  const scheduler = new VirtualTime();
  const composed = composeDeclarations({
    client,
    ...(options.simulated && { documentClient: options.simulated.documentClient }),
    tables: TABLES,
    namespace: options.namespace ?? `test-${randomBytes(6).toString('hex')}`,
    tier,
    push: ALL_FUNCTIONS,
    clock,
    random: realRandom,
    leaseMs: LEASE_MS.deployed,
    scheduler,
    ...(options.meter && { meter: options.meter }),
  });
  t.after(() => composed.settled());
  const parameters = options.parameters ?? new FakeParameters();
  const dependencies = { ...composed, parameters, clock, random: realRandom, scheduler: AT_ONCE };
  const answer: Answer = (event) => answerEvent(dependencies, event);
  return { ...dependencies, answer, stack: (name, other = answer) => new FakeStack(name, other) };
}

/** Parameters in memory, by their names without the prefix. */
export class FakeParameters implements Parameters {
  readonly values = new Map<string, string>();

  async put(rule: RuleOfEntity, connectionString: string): Promise<void> {
    this.values.set(keyParameterName('', rule), connectionString);
  }

  async remove(rule: RuleOfEntity): Promise<void> {
    this.values.delete(keyParameterName('', rule));
  }
}
