import { randomBytes } from 'node:crypto';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { type ComposeSettings, compose } from '../../lambdas/http/compose.ts';
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
  /** What another process needs to serve the same namespace. Its work is counted with this one's. */
  readonly settings: ComposeSettings;
  /** Has other processes of the namespace take part in `units` and `advance`. Returns a function that ends this. */
  join(process: OtherProcess): () => void;
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

/** Another process that serves the namespace. */
export interface OtherProcess {
  /** Resolves when it has no work left behind its answers. */
  idle(): Promise<void>;
  /** Tells it that the clock was moved. */
  wake(): void;
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
  const settings: ComposeSettings = {
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
  };
  const composition = compose(settings);
  const processes = new Set<OtherProcess>([composition]);
  const allIdle = () => Promise.all([...processes].map((process) => process.idle()));
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
    settings,
    join: (process) => {
      processes.add(process);
      return () => processes.delete(process);
    },
    units: async (work) => {
      await allIdle();
      meter.take();
      await work();
      await allIdle();
      return meter.take();
    },
    now,
    advance: (ms) => {
      aheadMs += ms;
      for (const process of processes) process.wake();
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
