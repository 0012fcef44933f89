import { Hono } from 'hono';
import { logAccess, logEvent, logMetric } from '../../gateway/log.ts';
import { CONNECTIONS_METRIC } from '../../gateway/variables.ts';
import { errorHandler } from '../../lambdas/http/routing/error-response.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';

/**
 * A script that answers three requests: one is refused as busy, one has an unknown outcome, and one meets a
 * fault. It writes a log line of each kind that a gateway writes; the event `Answered` has the statuses.
 */

const dependencies = {
  clock: { now: () => 0 },
  random: { bytes: (count: number) => new Uint8Array(count) },
  namespace: 'test',
};

const app = new Hono();
app.onError(errorHandler(dependencies, 'runtime'));
app.get('/busy', () => {
  throw new BrokerError('ServiceBusy', 'The service is busy.');
});
app.get('/timeout', () => {
  throw new BrokerError('ServiceTimeout', 'The outcome is unknown.');
});
app.get('/fault', () => {
  throw new TypeError('planted', { cause: new Error('the cause') });
});

const statuses: Record<string, number> = {};
for (const path of ['/busy', '/timeout', '/fault']) {
  const { status } = await app.request(path);
  statuses[path] = status;
  logAccess('request', { client: '192.0.2.1', path, status });
}
logEvent('Answered', statuses);
logMetric(CONNECTIONS_METRIC, 'test', 3);
