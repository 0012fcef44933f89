import type { Hono } from 'hono';
import {
  type ComposedDependencies,
  composeDependencies,
} from '../../shared/app/compose-dependencies.ts';
import { composeManagement } from '../../shared/app/compose-management.ts';
import { sweepOf } from '../../shared/app/compose-sweep.ts';
import type { NamespaceSettings } from '../../shared/app/namespace-settings.ts';
import { MANY_AT_ONCE } from '../../shared/broker/group-commit/create-grouped-broker.ts';
import type { Management } from '../../shared/broker/management/management.ts';
import type { RuleManagement } from '../../shared/broker/management/rules.ts';
import { watchHeaders } from '../../shared/storage/hints/header-watch.ts';
import { type AboutExplorer, explorerRoutes } from './explorer/routes.ts';
import { type HttpDependencies, type HttpOptions, httpDependencies } from './http-dependencies.ts';
import { manageRoutes } from './management/routes.ts';
import { openApiRoutes } from './openapi/routes.ts';
import { receiveRoutes } from './routes/receive.ts';
import { sendRoutes } from './routes/send.ts';
import { settleRoutes } from './routes/settle.ts';
import { transactionRoutes } from './routes/transactions.ts';
import { combineRoutes } from './routing/combine-routes.ts';

/** The settings of a complete namespace. */
export type ComposeSettings = NamespaceSettings &
  HttpOptions & {
    /** What the web page is told; default: that it is deployed, with keys. */
    readonly explorer?: AboutExplorer;
  };

/** A complete namespace: every HTTP route, and the sweep. */
export interface Composition {
  readonly app: Hono;
  /** The dependencies of a further surface, such as AMQP, and of what a server adds to its namespaces. */
  readonly dependencies: HttpDependencies &
    ComposedDependencies & {
      readonly rules: RuleManagement;
    };
  readonly management: Management;
  /** Runs the sweep once; does nothing while another process runs it. */
  sweep(): Promise<void>;
  /** Wakes waiting receives, for instance after the clock was moved. */
  wake(): void;
  /** Resolves when no background work is left. */
  idle(): Promise<void>;
  /** Ends the waits of receives, then finishes the background work. */
  close(): Promise<void>;
}

/** Composes all routes, management and the sweep of one namespace, by default for many clients at once. */
export function compose(settings: ComposeSettings, serving = MANY_AT_ONCE): Composition {
  const composed = composeDependencies(settings, serving, watchHeaders);
  const dependencies = httpDependencies(composed, settings);
  const management = composeManagement(dependencies, settings.tier, settings.push);
  const sweep = sweepOf(dependencies);
  const app = combineRoutes(
    dependencies,
    sendRoutes(dependencies),
    receiveRoutes(dependencies),
    settleRoutes(dependencies),
    openApiRoutes(),
    explorerRoutes(settings.explorer ?? { place: 'deployed', access: 'sas' }),
    transactionRoutes(dependencies),
    manageRoutes({ ...dependencies, management }),
  );
  return {
    app,
    dependencies: { ...dependencies, rules: management.rules },
    management,
    sweep: async () => {
      await sweep();
    },
    wake: () => {
      dependencies.wakeUps.wakeAll();
      dependencies.dueForwards?.check();
    },
    idle: () => dependencies.background.settled(),
    close: async () => {
      dependencies.wakeUps.close();
      dependencies.dueForwards?.close();
      await dependencies.background.settled();
    },
  };
}
