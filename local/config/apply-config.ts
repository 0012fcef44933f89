import { type AppliedConfig, applyEach } from '../../shared/config/apply/apply-each.ts';
import type { ConfigTarget } from '../../shared/config/apply/config-target.ts';
import type { NamespaceConfig } from '../../shared/config/namespace-config.ts';
import { ConfigError } from './config-error.ts';

/**
 * Applies a configuration as `applyEach` does. Throws ConfigError with a fault for each entity that the service
 * refuses; the others are applied nevertheless.
 */
export async function applyConfig(
  target: ConfigTarget,
  config: NamespaceConfig,
): Promise<AppliedConfig> {
  const { entities, faults } = await applyEach(target, config);
  if (faults.length > 0) throw new ConfigError(faults);
  const count = (outcome: keyof AppliedConfig) =>
    entities.filter((one) => one.outcome === outcome).length;
  return { created: count('created'), updated: count('updated'), unchanged: count('unchanged') };
}
