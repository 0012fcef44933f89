import { isDeepStrictEqual } from 'node:util';
import type { Management } from '../../shared/broker/management/management.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { inParallel } from '../../shared/storage/dynamodb/in-parallel.ts';
import type { Faults } from './config-error.ts';
import { CONFIG_LIMITS } from './config-limits.ts';
import type { RuleConfig } from './namespace-config.ts';

/** Creates rules of a subscription. Refusals are noted. */
export async function createRules(
  management: Management,
  subscription: string,
  rules: readonly RuleConfig[],
  faults: Faults,
): Promise<void> {
  await inParallel(rules, CONFIG_LIMITS.ruleWidth, async ({ at, rule }) => {
    await faults.attemptLater(
      () => at,
      () => management.rules.create(subscription, rule),
    );
  });
}

/**
 * Makes these the only rules of an existing subscription. Rules are deleted last, so that no message that a rule
 * selects before and after is missed. Returns whether any rule was changed. Refusals are noted.
 */
export async function updateRules(
  management: Management,
  subscription: string,
  wanted: readonly RuleConfig[],
  faults: Faults,
): Promise<boolean> {
  const present = await rulesOf(management, subscription);
  const added = wanted.filter(({ rule }) => !present.has(keyOf(rule)));
  const changed = wanted.filter(({ rule }) => {
    const found = present.get(keyOf(rule));
    return found !== undefined && !isSame(found, rule);
  });
  const keys = new Set(wanted.map(({ rule }) => keyOf(rule)));
  const left = [...present].filter(([key]) => !keys.has(key));
  await createRules(management, subscription, added, faults);
  await inParallel(changed, CONFIG_LIMITS.ruleWidth, async ({ at, rule }) => {
    await faults.attemptLater(
      () => at,
      () => management.rules.update(subscription, rule, '*'),
    );
  });
  await inParallel(left, CONFIG_LIMITS.ruleWidth, async ([, { name }]) => {
    await management.rules.delete(subscription, name);
  });
  return added.length + changed.length + left.length > 0;
}

/** All rules of a subscription by their lower-case names. The service bounds their number. */
async function rulesOf(
  management: Management,
  subscription: string,
): Promise<ReadonlyMap<string, RuleInput>> {
  const rules = new Map<string, RuleInput>();
  for (let more = true; more; ) {
    const page = await management.rules.list(subscription, {
      skip: rules.size,
      top: LIMITS.listPage,
    });
    for (const { stored } of page.items) rules.set(keyOf(stored.rule), stored.rule);
    more = page.more;
  }
  return rules;
}

function isSame(found: RuleInput, { filter, action }: RuleInput): boolean {
  return isDeepStrictEqual([found.filter, found.action], [filter, action]);
}

function keyOf({ name }: RuleInput): string {
  return name.toLowerCase();
}
