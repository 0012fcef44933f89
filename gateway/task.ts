import { type Composition, compose } from '../lambdas/http/compose.ts';
import { DrainNotice } from '../proxy/drain-notice.ts';
import { type RunningProxy, startProxy } from '../proxy/start-proxy.ts';
import { AddressLimits } from '../server/address-limits.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { deployedHttpSettings } from '../shared/app/deployed-settings.ts';
import type { NamespaceSettings } from '../shared/app/namespace-settings.ts';
import { openStream, type WaitStream } from '../shared/app/open-stream.ts';
import { reportFault } from '../shared/app/report-fault.ts';
import { type Environment, wholeNumber } from '../shared/app/settings.ts';
import { AccessLog, type LogAccess, RulesOfRequests, withAccessLog } from './access-log.ts';
import { onlyHealth } from './health.ts';
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

/** The process of a container while it serves. */
export interface Task {
  readonly port: number;
  /** Ends as `stop` of the proxy says. */
  stop(): Promise<void>;
}

/**
 * Serves a namespace over AMQP, WebSocket and HTTP on one port behind a load balancer, from the tables that the
 * environment names: a proxy with transport direct, and with the limits and the log of a service. It has no state that
 * another task would need. Rejects if the root key or the tables cannot be read.
 */
export async function startTask(environment: Environment): Promise<Task> {
  const settings = deployedHttpSettings(environment, SOCKETS_MAX);
  const port = wholeNumber(environment, GATEWAY_VARIABLES.port);
  const drainNotice = new DrainNotice(wholeNumber(environment, GATEWAY_VARIABLES.drainNoticeMs));
  const limits = readLimits(environment);
  const accessLog = new AccessLog(logAccess, NOW);
  const log: LogAccess | undefined =
    environment[GATEWAY_VARIABLES.accessLog] === 'true' ? accessLog.write : undefined;
  const rules = new RulesOfRequests();
  const stream =
    environment[GATEWAY_VARIABLES.streamWakeUps] === 'true'
      ? openGatewayStream(settings)
      : undefined;
  const ruleLimit = new RuleLimit(limits.operationsOfRule, NOW);
  const composition = compose({
    ...settings,
    stream,
    countOperation: ruleLimit.countOperation,
    ...(log === undefined ? {} : { onAuthorized: rules.add }),
  });
  const { dependencies } = composition;
  await requireReadable(composition);
  const app = drainNotice.watch(composition.app);
  const requests = new LimitedApp(app, dependencies, limits, NOW);
  const connections = new AddressLimits(limits, NOW);
  const proxy = await startProxy({
    upstream: { ...composition, dependencies: { ...dependencies, reportFault, logAccess: log } },
    keys: dependencies.namespaceKeys,
    port,
    app: log === undefined ? requests : withAccessLog(requests, log, NOW, rules),
    isBehindTls: true,
    // The load balancer accepts any certificate; this one only encrypts the traffic.
    certificate: () => makeCertificate(Date.now()),
    loadBalancer: {
      limits: connections,
      health: onlyHealth(app),
      now: NOW,
      connectionEnded: log && ((connection) => log('connection', { ...connection })),
    },
    drainNotice,
    endWaits: async () => {
      await composition.close();
      stream?.close();
    },
    stopMsMax: STOP_MS_MAX,
  });
  const measure = () => {
    measureConnections(settings.namespace, proxy, {
      refusedConnections: connections.takeRefused(),
      refusedRequests: requests.takeRefused(),
      refusedOperations: ruleLimit.takeRefused(),
      droppedAccessLines: accessLog.takeDropped(),
    });
  };
  measure();
  const measuring = setInterval(measure, CONNECTIONS_METRIC.periodMs);
  return {
    port: proxy.port,
    stop: async () => {
      measure();
      await proxy.stop();
      clearInterval(measuring);
    },
  };
}

function openGatewayStream({
  client,
  tables,
}: Pick<NamespaceSettings, 'client' | 'tables'>): WaitStream {
  return openStream({ client, messagesTable: tables.messages, report: reportFault });
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
  { connections }: RunningProxy,
  details: Readonly<
    Record<
      'refusedConnections' | 'refusedRequests' | 'refusedOperations' | 'droppedAccessLines',
      number
    >
  >,
): void {
  const rssMegabytes = Math.round(process.memoryUsage.rss() / 2 ** 20);
  logMetric(CONNECTIONS_METRIC, namespace, connections, { rssMegabytes, ...details });
}
