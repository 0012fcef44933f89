import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { compose } from '../../lambdas/http/compose.ts';
import { applyConfig } from '../../local/config/apply-config.ts';
import { ConfigError } from '../../local/config/config-error.ts';
import type { NamespaceDescription } from '../../local/config/description.ts';
import { parseDescription } from '../../local/config/parse.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import type { Management } from '../../shared/broker/management/management.ts';
import type { Tier } from '../../shared/domain/entities/tier.ts';
import { engineClient, ROOT_KEY, startBroker, TABLES } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';

/** A namespace to which configurations are applied. */
export interface ConfiguredNamespace {
  readonly broker: TestBroker;
  readonly management: Management;
  apply(description: NamespaceDescription): ReturnType<typeof applyConfig>;
}

/** Starts a new namespace, with the management of a process beside the one that answers requests. */
export async function startNamespace(
  t: TestContext,
  tier: Tier = 'Standard',
): Promise<ConfiguredNamespace> {
  const broker = await startBroker(t, { tier });
  const client = engineClient();
  const { management, close } = compose({
    client,
    tables: TABLES,
    namespace: broker.namespace,
    tier,
    clock: broker.clock,
    random: realRandom,
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 60_000,
    scheduler: broker.time,
  });
  t.after(async () => {
    await close();
    client.destroy();
  });
  const apply = (description: NamespaceDescription) =>
    applyConfig(management, parseDescription(description));
  return { broker, management, apply };
}

/** The lines of the ConfigError with which `work` fails. */
export async function faultsOf(work: Promise<unknown>): Promise<readonly string[]> {
  let found: readonly string[] = [];
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ConfigError, String(error));
    found = error.faults;
    return true;
  });
  return found;
}
