import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { AmqpServer } from '../amqp/service/amqp-server.ts';
import { type Composition, compose } from '../lambdas/http/compose.ts';
import { AddressLimits } from '../server/address-limits.ts';
import { createProtocolServer, type ProtocolServer } from '../server/server.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { deployedHttpSettings } from '../shared/app/deployed-settings.ts';
import { reportFault } from '../shared/app/report-fault.ts';
import { type Environment, wholeNumber } from '../shared/app/settings.ts';
import { AccessLog, type LogAccess, RulesOfRequests, withAccessLog } from './access-log.ts';
import { onlyHealth, withDrainingHealth } from './health.ts';
import { readLimits } from './limits.ts';
import { logAccess, logMetric } from './log.ts';
import { LimitedApp } from './request-limits.ts';
import { RuleLimit } from './rule-limit.ts';
import { CONNECTIONS_METRIC, GATEWAY_VARIABLES, STOP_MS_MAX } from './variables.ts';

/**
 * Requests to AWS that may be under way at the same time: each waiting receiver asks twice a second, and there may be
 * thousands.
 */
const SOCKETS_MAX = 256;
/** Monotonic ms. */
const NOW = () => performance.now();

/** A running gateway process. */
export interface Task {
  readonly port: number;
  /**
   * Reports itself unhealthy and serves on for the notice time; then accepts no connections, finishes requests under
   * way and disconnects all clients, which reconnect to another task. Rejects if that takes too long.
   */
  stop(): Promise<void>;
}

/**
 * Serves a namespace over AMQP, WebSocket and HTTP on one port, from the tables that the environment names. It has no
 * state that another task would need. Rejects if the root key or the tables cannot be read.
 */
export async function startTask(environment: Environment): Promise<Task> {
  const settings = deployedHttpSettings(environment, SOCKETS_MAX);
  const noticeMs = wholeNumber(environment, GATEWAY_VARIABLES.drainNoticeMs);
  const limits = readLimits(environment);
  const accessLog = new AccessLog(logAccess, NOW);
  const log: LogAccess | undefined =
    environment[GATEWAY_VARIABLES.accessLog] === 'true' ? accessLog.write : undefined;
  const rules = new RulesOfRequests();
  const ruleLimit = new RuleLimit(limits.operationsOfRule, NOW);
  const composition = compose({
    ...settings,
    countOperation: ruleLimit.countOperation,
    ...(log === undefined ? {} : { onAuthorized: rules.add }),
  });
  await requireReadable(composition);
  const amqp = new AmqpServer({ ...composition.dependencies, reportFault, logAccess: log });
  let isDraining = false;
  const app = withDrainingHealth(composition.app, () => isDraining);
  const requests = new LimitedApp(app, composition.dependencies, limits, NOW);
  const connections = new AddressLimits(limits, NOW);
  const server = createProtocolServer({
    app: log === undefined ? requests : withAccessLog(requests, log, NOW, rules),
    memory: composition.dependencies.memory,
    amqp,
    isBehindTls: true,
    // The load balancer accepts any certificate; this one only encrypts the traffic.
    certificate: () => makeCertificate(Date.now()),
    loadBalancer: {
      limits: connections,
      health: onlyHealth(app),
      now: NOW,
      connectionEnded: log && ((connection) => log('connection', { ...connection })),
    },
  });
  server.http.listen(wholeNumber(environment, GATEWAY_VARIABLES.port));
  await once(server.http, 'listening');
  const measure = () => {
    measureConnections(settings.namespace, amqp, {
      refusedConnections: connections.takeRefused(),
      refusedRequests: requests.takeRefused(),
      refusedOperations: ruleLimit.takeRefused(),
      droppedAccessLines: accessLog.takeDropped(),
    });
  };
  measure();
  const measuring = setInterval(measure, CONNECTIONS_METRIC.periodMs);
  return {
    port: (server.http.address() as AddressInfo).port,
    stop: async () => {
      isDraining = true;
      measure();
      await pause(noticeMs);
      await Promise.race([finish(server, amqp, composition), overdue()]);
      clearInterval(measuring);
    },
  };
}

async function finish(
  server: ProtocolServer,
  amqp: AmqpServer,
  composition: Composition,
): Promise<void> {
  const closed = server.close();
  // Waiting requests end at once; everything else under way ends together.
  await Promise.all([amqp.close(), composition.close()]);
  await closed;
  await composition.idle();
}

async function overdue(): Promise<never> {
  await pause(STOP_MS_MAX);
  throw new Error(`Clients were still there ${STOP_MS_MAX / 1000} s after all were sent away.`);
}

async function requireReadable({ dependencies }: Composition): Promise<void> {
  await Promise.all([dependencies.namespaceKeys.rules(), dependencies.entities.find('$health')]);
}

/**
 * Logs the number of clients, by which scaling works, together with the number of refusals since the last time. A line
 * for each refusal could itself be used for a flood.
 */
function measureConnections(
  namespace: string,
  amqp: AmqpServer,
  details: Readonly<
    Record<
      'refusedConnections' | 'refusedRequests' | 'refusedOperations' | 'droppedAccessLines',
      number
    >
  >,
): void {
  const rssMegabytes = Math.round(process.memoryUsage.rss() / 2 ** 20);
  logMetric(CONNECTIONS_METRIC, namespace, amqp.connections, { rssMegabytes, ...details });
}
