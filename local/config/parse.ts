import { type CheckedEntity, checkEntity } from '../../shared/config/check-entity.ts';
import { CONFIG_LIMITS } from '../../shared/config/config-limits.ts';
import type { Faults } from '../../shared/config/faults.ts';
import type { EntityConfig, NamespaceConfig } from '../../shared/config/namespace-config.ts';
import type { RawEntity, RawNamespace } from '../../shared/config/raw-entity.ts';
import { readShortForm } from '../../shared/config/short-form.ts';
import { takenName } from '../../shared/config/taken-name.ts';
import { present } from '../../shared/domain/present.ts';
import { checkForwarding } from './check-forwarding.ts';
import { ConfigError, throwIfAny } from './config-error.ts';
import { readEmulatorFile } from './emulator-file.ts';

/**
 * Reads a configuration in the format of the vendor's emulator. `value` = the parsed JSON. Settings that are left out
 * have the defaults of the service, which are not always those of the emulator. Throws ConfigError with all faults.
 */
export function parseConfig(value: unknown): NamespaceConfig {
  return checkNamespace(readEmulatorFile(value));
}

/** Reads a description in the short form, a NamespaceDescription. Throws ConfigError with all faults. */
export function parseDescription(value: unknown): NamespaceConfig {
  return checkNamespace(readShortForm(value));
}

/** Reads either form: only that of the emulator has a `UserConfig`. Throws ConfigError with all faults. */
export function parseAnyConfig(value: unknown): NamespaceConfig {
  const isEmulators =
    typeof value === 'object' && value !== null && Object.hasOwn(value, 'UserConfig');
  return isEmulators ? parseConfig(value) : parseDescription(value);
}

function checkNamespace({ entities, spelling, faults }: RawNamespace): NamespaceConfig {
  requireFewEnough(entities);
  checkNames(entities, faults);
  // A file names no tier.
  const checked = entities.flatMap(
    (raw) => checkEntity(raw, spelling, faults, { tier: undefined }) ?? [],
  );
  const named = entities.filter(({ kind }) => kind !== 'subscription');
  checkForwarding(checked, new Set(named.map(keyOf)), faults);
  throwIfAny(faults);
  return { entities: checked.map(withoutDescription) };
}

function requireFewEnough(entities: readonly RawEntity[]): void {
  const rules = entities.reduce((sum, { rules = [] }) => sum + rules.length, 0);
  const counts = [
    [entities.length, CONFIG_LIMITS.entities, 'queues, topics and subscriptions'],
    [rules, CONFIG_LIMITS.rules, 'rules'],
  ] as const;
  const faults = counts.flatMap(([count, most, things]) =>
    count <= most
      ? []
      : [
          `There are ${count.toLocaleString('en-US')} ${things}; a configuration may have ${most.toLocaleString('en-US')}: create the others later.`,
        ],
  );
  if (faults.length > 0) throw new ConfigError(faults);
}

/** Queues and topics share their names; a subscription has its own within its topic. */
function checkNames(entities: readonly RawEntity[], faults: Faults): void {
  const taken = new Map<string, string>();
  for (const entity of entities) {
    const key = keyOf(entity);
    const other = taken.get(key);
    if (other === undefined) taken.set(key, entity.at);
    else faults.add(entity.nameAt, takenName(entity.name, other));
  }
}

function keyOf({ name, topic }: RawEntity): string {
  return (topic === undefined ? name : `${topic}/subscriptions/${name}`).toLowerCase();
}

function withoutDescription(checked: CheckedEntity): EntityConfig {
  const { at, name, settings, places, rules, consumers } = checked;
  return { at, name, settings, places, ...present({ rules, consumers }) };
}
