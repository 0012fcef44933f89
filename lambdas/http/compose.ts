import type { Hono } from 'hono';
import { composeParts, type NamespaceSettings } from '../../shared/app/compose-parts.ts';
import { sweepOf } from '../../shared/app/compose-sweep.ts';
import { Management } from '../../shared/broker/management/management.ts';
import type { RuleManagement } from '../../shared/broker/management/rules.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { DynamoRuleStore } from '../../shared/storage/entities/rule-store.ts';
import { manageRoutes } from './atom/routes.ts';
import { type HttpDependencies, type HttpOptions, httpDependencies } from './http-dependencies.ts';
import { contractRoutes } from './openapi/routes.ts';
import { receiveRoutes } from './routes/receive.ts';
import { sendRoutes } from './routes/send.ts';
import { settleRoutes } from './routes/settle.ts';
import { combineRoutes } from './routing/combine-routes.ts';

/** What a whole namespace is composed of. */
export type ComposeSettings = NamespaceSettings & HttpOptions;

/** A whole namespace: every route, and the sweep. */
export interface Composition {
  readonly app: Hono;
  /** What a transport beside HTTP is built from. */
  readonly dependencies: HttpDependencies & {
    readonly rules: RuleManagement;
    readonly scheduler: Scheduler;
  };
  readonly management: Management;
  /** One run of the sweep; nothing where another process is at it. */
  sweep(): Promise<void>;
  /** Lets go of receives that wait, because the clock was moved or the server ends. */
  wake(): void;
  /** Resolves when nothing is left to do behind answers. */
  idle(): Promise<void>;
  /** Ends waits and finishes what was left to do behind answers. */
  close(): Promise<void>;
}

/** Builds everything that answers under one namespace. */
export function compose(settings: ComposeSettings): Composition {
  const dependencies = httpDependencies(composeParts(settings), settings);
  const { clock, random, documents, namespace, store } = dependencies;
  const management = new Management({
    entities: store,
    rules: new DynamoRuleStore(documents, namespace, store),
    counts: dependencies.counts,
    clock,
    random,
    namespace: { name: namespace, tier: settings.tier ?? 'Standard' },
    beginForwarding: dependencies.beginForwarding,
  });
  const sweep = sweepOf(dependencies, settings);
  const app = combineRoutes(
    dependencies,
    sendRoutes(dependencies),
    receiveRoutes(dependencies),
    settleRoutes(dependencies),
    contractRoutes(),
    manageRoutes({ ...dependencies, management }),
  );
  return {
    app,
    dependencies: { ...dependencies, rules: management.rules },
    management,
    sweep: async () => {
      await sweep();
    },
    wake: () => dependencies.wakeUps.wakeAll(),
    idle: () => dependencies.background.settled(),
    close: async () => {
      dependencies.wakeUps.close();
      await dependencies.background.settled();
    },
  };
}
