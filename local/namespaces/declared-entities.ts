import type { Management } from '../../shared/broker/management/management.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { present } from '../../shared/domain/present.ts';
import type { Rule } from '../../shared/filters/rule.ts';
import type {
  DeclaredEntity,
  DeclaredSubscription,
} from '../../shared/storage/entities/entity-renewal.ts';
import type { ApplyConfig } from './config-port.ts';

/** The operations that declare the entity which their first argument names. */
const DECLARING: ReadonlySet<string | symbol> = new Set(['create', 'update']);

/** The entities that configurations have declared, with the settings, rules and consumers that they had then. */
export class DeclaredEntities {
  /** Queues and topics by key, and of topics the subscriptions by key. */
  readonly #entities = new Map<string, DeclaredEntity>();

  /** All of them, by key. */
  get all(): ReadonlyMap<string, DeclaredEntity> {
    return this.#entities;
  }

  /**
   * Applies a configuration by `apply`, and remembers as declared each entity that it creates or updates, also where
   * the entity exists already. What earlier configurations declared stays declared. Throws what `apply` throws; then
   * nothing more is declared.
   */
  async declare(management: Management, apply: ApplyConfig): Promise<void> {
    const paths: string[] = [];
    const note = (path: string) => paths.push(path);
    const rules = noting(management.rules, note);
    await apply(noting(management, note, { rules }));
    for (const path of new Set(paths)) await this.#remember(management, path);
  }

  async #remember(management: Management, path: string): Promise<void> {
    const { key, subscription } = parseEntityPath(path);
    const owner = await found(management, subscription?.topic ?? key);
    if (owner === undefined) return;
    const before = this.#entities.get(owner.key)?.subscriptions ?? [];
    const own = subscription && (await declaredSubscription(management, path));
    const others = before.filter((one) => one.key !== own?.key);
    const subscriptions = own === undefined ? others : [...others, own];
    this.#entities.set(owner.key, { ...partOf(owner), subscriptions });
  }
}

const partOf = ({ key, name, description, consumers }: Entity) => ({
  key,
  name,
  description,
  ...present({ consumers }),
});

async function declaredSubscription(
  management: Management,
  path: string,
): Promise<DeclaredSubscription | undefined> {
  const entity = await found(management, path);
  if (entity === undefined) return undefined;
  const rules: Rule[] = [];
  for (let more = true; more; ) {
    const page = await management.rules.list(path, { skip: rules.length, top: LIMITS.listPage });
    rules.push(...page.items.map(({ stored }) => stored.rule));
    more = page.more;
  }
  return { ...partOf(entity), rules };
}

/** The entity at a path; undefined if it was deleted meanwhile. */
async function found(management: Management, path: string): Promise<Entity | undefined> {
  try {
    return await management.get(path);
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'MessagingEntityNotFound') return undefined;
    throw error;
  }
}

/** The same object, except that `note` gets the path of each call that declares an entity. `others` replace members. */
function noting<Target extends object>(
  target: Target,
  note: (path: string) => void,
  others: Partial<Target> = {},
): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(name in others ? others : target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        if (DECLARING.has(name)) note(String(args[0]));
        return Reflect.apply(value, target, args);
      };
    },
  });
}
