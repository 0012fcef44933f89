import { boundedClient } from '../../shared/app/bounded-client.ts';
import { composeDependencies } from '../../shared/app/compose-dependencies.ts';
import { composeManagement } from '../../shared/app/compose-management.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import type { NamespaceSettings } from '../../shared/app/namespace-settings.ts';
import { openStream } from '../../shared/app/open-stream.ts';
import { START_NONE, storedWakes } from '../../shared/app/push/stored-wakes.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { reportFault } from '../../shared/app/report-fault.ts';
import { MANY_AT_ONCE } from '../../shared/broker/group-commit/create-grouped-broker.ts';
import { createLeanClient } from '../../shared/storage/dynamodb/lean-client.ts';
import { watchHeaders } from '../../shared/storage/hints/header-watch.ts';
import type { Upstream } from '../upstream.ts';
import { explainRefusals } from './aws-refusals.ts';
import type { DirectOptions } from './direct-options.ts';

/** Requests to AWS that may be under way at the same time: each waiting receiver asks twice a second. */
const SOCKETS_MAX = 256;

/**
 * Opens a namespace by its tables, with the AWS credentials of this process. Who holds them may do everything, so the
 * clients of the AMQP surface need no right of their own: the caller says who may reach it.
 */
export function openDirect(options: DirectOptions): Upstream {
  const { entitiesTable, messagesTable, namespace, tier = 'Standard', ...more } = options;
  const { stream: isStreamed = false, ...client } = more;
  const dynamo = createLeanClient({ ...boundedClient(SOCKETS_MAX), ...client });
  explainRefusals(dynamo);
  const stream = isStreamed
    ? openStream({ client: dynamo, messagesTable, report: reportFault })
    : undefined;
  const upstream = composeDirect({
    client: dynamo,
    tables: { entities: entitiesTable, messages: messagesTable },
    namespace,
    tier,
    clock: { now: () => Date.now() },
    random: realRandom,
    rootKey: NO_ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    stream,
    consumers: (stores) => storedWakes(stores, START_NONE),
  });
  return {
    ...upstream,
    close: async () => {
      await upstream.close();
      stream?.close();
      dynamo.destroy();
    },
  };
}

/** Composes a namespace for the AMQP surface alone. */
export function composeDirect(settings: NamespaceSettings): Upstream {
  const composed = composeDependencies(settings, MANY_AT_ONCE, watchHeaders);
  const { rules } = composeManagement(composed, settings.tier);
  return {
    dependencies: { ...composed, rules, reportFault },
    reach: async () => {
      await composed.entities.find(NO_ENTITY);
    },
    wake: () => {
      composed.wakeUps.wakeAll();
      composed.dueForwards?.check();
    },
    idle: () => composed.background.settled(),
    close: async () => {
      composed.wakeUps.close();
      composed.dueForwards?.close();
      await composed.background.settled();
    },
  };
}

/** The key of an entity that cannot be. */
const NO_ENTITY = '$health';

/** An empty key signs no token. */
const NO_ROOT_KEY = '';
