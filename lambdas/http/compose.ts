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
import { runtimeApp } from './routing/runtime-app.ts';

/** What a whole namespace is composed of. */
export type ComposeSettings = NamespaceSettings & HttpOptions;

/** A whole namespace: every route, and the sweep. */
export interface Composition {
  readonly app: Hono;
  /** What a transport beside HTTP is built from. */
  readonly parts: HttpDependencies & {
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
  const parts = httpDependencies(composeParts(settings), settings);
  const { clock, random, documents, namespace, store } = parts;
  const management = new Management({
    entities: store,
    rules: new DynamoRuleStore(documents, namespace, store),
    counts: parts.counts,
    clock,
    random,
    namespace: { name: namespace, tier: settings.tier ?? 'Standard' },
    beginForwarding: parts.beginForwarding,
  });
  const sweep = sweepOf(parts, settings);
  const app = runtimeApp(
    parts,
    sendRoutes(parts),
    receiveRoutes(parts),
    settleRoutes(parts),
    contractRoutes(),
    manageRoutes({ ...parts, management }),
  );
  return {
    app,
    parts: { ...parts, rules: management.rules },
    management,
    sweep: async () => {
      await sweep();
    },
    wake: () => parts.wakeUps.wakeAll(),
    idle: () => parts.background.settled(),
    close: async () => {
      parts.wakeUps.close();
      await parts.background.settled();
    },
  };
}
