import { randomBytes } from 'node:crypto';
import { compose } from '../../lambdas/http/compose.ts';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { startServer } from '../../local/server.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { BENCH_KEY, BENCH_TABLES } from './process.ts';

/**
 * One process of a namespace that several processes serve, as in a deployment. Started by
 * `startCompetingProcess`: it sends its URL, and on each request its capacity units since the request before.
 */

const [, , endpoint, namespace] = process.argv;
if (endpoint === undefined || namespace === undefined) {
  throw new Error('Usage: server.ts ENDPOINT NAMESPACE');
}
const meter = new UnitMeter();
const composition = compose({
  client: createDynamoClient(endpoint),
  tables: BENCH_TABLES,
  namespace,
  clock: { now: () => Date.now() },
  random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
  rootKey: BENCH_KEY,
  leaseMs: LEASE_MS.deployed,
  receiveWaitMsMax: 0,
  meter,
});
const { app, dependencies } = composition;
const server = await startServer({ app, memory: dependencies.memory, host: '127.0.0.1', port: 0 });
process.on('message', async () => {
  await composition.idle();
  process.send?.(meter.take());
});
process.on('disconnect', () => process.exit());
process.send?.(server.url);
