import { randomBytes } from 'node:crypto';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { compose } from '../../lambdas/http/compose.ts';
import { type ServerOptions, startServer } from '../../local/server.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { reportFault } from '../../shared/app/report-fault.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { UnitMeter, type Units } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { engineClient, ROOT_KEY, TABLES, tablesExist } from '../support/start-broker.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** A namespace that answers on this machine, empty at first. */
export interface TestNamespace {
  /** As the official clients take it, with the root key. */
  readonly connectionString: string;
  readonly port: number;
  /** What some work costs, with what is left to do behind its answers. */
  units(work: () => Promise<unknown>): Promise<Units>;
  /** The instant by its clock, epoch ms. */
  now(): number;
  /** Moves its clock ahead of the real one. */
  advance(ms: number): void;
  /** What it holds for its clients. */
  readonly memory: MemoryBudget;
  /** What was reported as a fault of ours. */
  readonly faults: readonly unknown[];
  stop(): Promise<void>;
}

/** How a namespace differs from the usual one. */
interface Changes {
  readonly clock?: Clock;
  /** What its clients may have it hold. */
  readonly memoryBytes?: number;
  /** Standard if it is not named. */
  readonly tier?: 'Premium';
}

/** Starts one. The only place that knows what the clients are tried against. */
export async function startNamespace({
  clock = { now: () => Date.now() },
  memoryBytes,
  tier,
  ...options
}: Pick<ServerOptions, 'certificate' | 'firstBytesMs'> & Changes = {}): Promise<TestNamespace> {
  const client = engineClient();
  await tablesExist();
  const meter = new UnitMeter();
  let aheadMs = 0;
  const now = () => clock.now() + aheadMs;
  const composition = compose({
    client,
    tables: TABLES,
    namespace: `compat-${randomBytes(6).toString('hex')}`,
    clock: { now },
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(tier === undefined ? {} : { tier }),
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    scheduler: new VirtualTime(),
    receiveWaitMsMax: 0,
    meter,
  });
  const faults: unknown[] = [];
  const gateway = new AmqpServer({
    ...composition.dependencies,
    reportFault: (fault) => {
      faults.push(fault);
      reportFault(fault);
    },
  });
  const server = await startServer({
    app: composition.app,
    memory: composition.dependencies.memory,
    amqp: gateway,
    host: '127.0.0.1',
    port: 0,
    ...options,
  });
  return {
    port: server.port,
    units: async (work) => {
      await composition.idle();
      meter.take();
      await work();
      await composition.idle();
      return meter.take();
    },
    now,
    advance: (ms) => {
      aheadMs += ms;
      composition.wake();
    },
    memory: composition.dependencies.memory,
    faults,
    connectionString: `Endpoint=sb://localhost:${server.port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;`,
    stop: async () => {
      const closed = server.close();
      await gateway.close();
      await composition.close();
      await closed;
      client.destroy();
    },
  };
}
