import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compose } from '../../lambdas/http/compose.ts';
import { applyConfig } from '../../local/config/apply-config.ts';
import { parseDescription } from '../../local/config/parse.ts';
import { DeclaredEntities } from '../../local/namespaces/declared-entities.ts';
import { resetEntities } from '../../local/namespaces/empty-namespace.ts';
import { composeRenewal } from '../../shared/app/compose-renewal.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { ANY_TARGET, LAMBDA, namesIn, putConsumer } from '../support/consumers.ts';
import { getJson } from '../support/json-management.ts';
import { engineClient, ROOT_KEY, startBroker, TABLES } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';

test('a reset restores the declared consumers, and removes all others', async (t) => {
  const push = ANY_TARGET;
  const broker = await startBroker(t, { push });
  const client = engineClient();
  const { management, dependencies, close } = compose({
    client,
    tables: TABLES,
    namespace: broker.namespace,
    clock: broker.clock,
    random: realRandom,
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 60_000,
    scheduler: broker.time,
    push,
  });
  t.after(async () => {
    await close();
    client.destroy();
  });
  const declared = new DeclaredEntities();
  const description = {
    queues: { q: { consumers: { kept: LAMBDA, removed: { target: LAMBDA, maxBatch: 5 } } } },
    topics: { t: { subscriptions: { s: { consumers: { kept: LAMBDA } } } } },
  };
  await declared.declare(management, (target) =>
    applyConfig(target, parseDescription(description)).then(() => {}),
  );
  expectStatus(await broker.request('DELETE', 'q/consumers/removed'), 200);
  expectStatus(await putConsumer(broker, 'q/consumers/kept', { enabled: false }), 200);
  expectStatus(await putConsumer(broker, 'q/$deadletterqueue/consumers/other'), 201);
  expectStatus(await broker.request('DELETE', 't/subscriptions/s/consumers/kept'), 200);
  await resetEntities(management, composeRenewal(dependencies), declared.all, broker.clock.now());
  assert.deepEqual(namesIn(await getJson(broker, 'q/consumers')), ['kept', 'removed']);
  assert.equal((await getJson(broker, 'q/consumers/removed'))['maxBatch'], 5);
  assert.equal((await getJson(broker, 'q/consumers/kept'))['enabled'], true);
  assert.deepEqual(namesIn(await getJson(broker, 'q/$deadletterqueue/consumers')), []);
  assert.deepEqual(namesIn(await getJson(broker, 't/subscriptions/s/consumers')), ['kept']);
});
