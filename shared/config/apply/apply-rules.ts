import { isDeepStrictEqual } from 'node:util';
import type { RuleInput } from '../../broker/ports/management.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Properties, PropertyValue } from '../../domain/messages/property-value.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import type { Limiter } from '../../domain/turns/limiter.ts';
import type { Filter } from '../../filters/rule.ts';
import { CONFIG_LIMITS } from '../config-limits.ts';
import type { Faults } from '../faults.ts';
import type { RuleConfig } from '../namespace-config.ts';
import type { ConfigTarget } from './config-target.ts';

/** What became of a rule. */
export interface AppliedRule {
  readonly name: string;
  readonly outcome: 'created' | 'updated' | 'deleted' | 'unchanged';
}

/** Where rules are applied to. */
interface RulesOf {
  readonly target: ConfigTarget;
  /** The path of the subscription. */
  readonly subscription: string;
  /** Collects refusals. */
  readonly faults: Faults;
  /** Bounds the changes of rules of all subscriptions. */
  readonly limiter: Limiter;
}

/** Changes rules, as many at a time as all subscriptions together may. */
async function changeTogether<T>(
  { limiter }: RulesOf,
  list: readonly T[],
  change: (one: T) => Promise<void>,
): Promise<void> {
  await inParallel(list, CONFIG_LIMITS.ruleWidth, (one) =>
    limiter.during('rules', () => change(one)),
  );
}

/** Creates rules of a subscription. Returns those that were created; refusals are noted. */
export async function createRules(
  rulesOf: RulesOf,
  rules: readonly RuleConfig[],
): Promise<readonly AppliedRule[]> {
  const { rules: target } = rulesOf.target;
  return await changeEach(rulesOf, rules, 'created', (path, rule) => target.create(path, rule));
}

/** What became of the rules of a subscription. `differences` = a sentence for each rule that stays as it was. */
export interface AppliedRules {
  readonly rules: readonly AppliedRule[];
  readonly differences: readonly string[];
}

/**
 * Makes these the only rules of an existing subscription. Rules are deleted last, and only if none was refused, so that
 * no message that a rule selects before and after is missed. Refusals are noted.
 */
export async function updateRules(
  rulesOf: RulesOf,
  wanted: readonly RuleConfig[],
): Promise<AppliedRules> {
  const { target, subscription } = rulesOf;
  const { added, changed, same, left } = await compareRules(rulesOf, wanted);
  const created = await createRules(rulesOf, added);
  const updated = await changeEach(rulesOf, changed, 'updated', (path, rule) =>
    target.rules.update(path, rule, '*'),
  );
  const done = [...created, ...updated, ...same];
  if (done.length < wanted.length) {
    const stays = (name: string) =>
      `${subscription}/Rules/${name} stays, because a rule of the configuration was refused.`;
    return { rules: done, differences: left.map(stays) };
  }
  await changeTogether(rulesOf, left, (name) => target.rules.delete(subscription, name));
  const deleted = left.map((name) => ({ name, outcome: 'deleted' as const }));
  return { rules: [...done, ...deleted], differences: [] };
}

/**
 * Creates the rules that an existing subscription lacks and changes no other, even if it is not as the configuration
 * has it. Refusals are noted.
 */
export async function addRules(
  rulesOf: RulesOf,
  wanted: readonly RuleConfig[],
): Promise<AppliedRules> {
  const { added, changed, found, same, left } = await compareRules(rulesOf, wanted);
  const created = await createRules(rulesOf, added);
  const kept = changed.map(({ rule }) => ({ name: rule.name, outcome: 'unchanged' as const }));
  const path = (name: string) => `${rulesOf.subscription}/Rules/${name}`;
  const others = changed.map(({ rule }) => {
    const before = found.get(keyOf(rule));
    const parts = [
      ...(isSameFilter(before?.filter, rule.filter) ? [] : ['another filter']),
      ...(isSameAction(before, rule) ? [] : ['another action']),
    ];
    return `${path(rule.name)} exists with ${parts.join(' and ')}.`;
  });
  const more = left.map((name) => `${path(name)} exists, and the file lacks it.`);
  return { rules: [...created, ...kept, ...same], differences: [...others, ...more] };
}

async function changeEach(
  rulesOf: RulesOf,
  rules: readonly RuleConfig[],
  outcome: AppliedRule['outcome'],
  change: (subscription: string, rule: RuleInput) => Promise<unknown>,
): Promise<readonly AppliedRule[]> {
  const { subscription, faults } = rulesOf;
  const refused = new Set<RuleConfig>();
  await changeTogether(rulesOf, rules, async (one) => {
    const place = () => one.at;
    const done = await faults.attemptLater(place, async () => {
      await change(subscription, one.rule);
      return true;
    });
    if (done === undefined) refused.add(one);
  });
  return rules.filter((one) => !refused.has(one)).map(({ rule }) => ({ name: rule.name, outcome }));
}

/** The rules of a configuration beside those of a subscription. `left` = names of rules that only the latter has. */
async function compareRules({ target, subscription }: RulesOf, wanted: readonly RuleConfig[]) {
  const found = await rulesOf(target, subscription);
  const keys = new Set(wanted.map(({ rule }) => keyOf(rule)));
  const isFound = ({ rule }: RuleConfig) => found.has(keyOf(rule));
  const isAsFound = ({ rule }: RuleConfig) => isSame(found.get(keyOf(rule)), rule);
  return {
    found,
    added: wanted.filter((one) => !isFound(one)),
    changed: wanted.filter((one) => isFound(one) && !isAsFound(one)),
    same: wanted
      .filter(isAsFound)
      .map(({ rule }) => ({ name: rule.name, outcome: 'unchanged' as const })),
    left: [...found].filter(([key]) => !keys.has(key)).map(([, { name }]) => name),
  };
}

/** All rules of a subscription by their lower-case names. The service bounds their number. */
async function rulesOf(
  target: ConfigTarget,
  subscription: string,
): Promise<ReadonlyMap<string, RuleInput>> {
  const rules = new Map<string, RuleInput>();
  for (let more = true; more; ) {
    const page = await target.rules.list(subscription, { skip: rules.size, top: LIMITS.listPage });
    for (const { stored } of page.items) rules.set(keyOf(stored.rule), stored.rule);
    more = page.more;
  }
  return rules;
}

function isSame(found: RuleInput | undefined, rule: RuleInput): boolean {
  return (
    found !== undefined && isSameFilter(found.filter, rule.filter) && isSameAction(found, rule)
  );
}

function isSameFilter(found: Filter | undefined, wanted: Filter): boolean {
  return isDeepStrictEqual(found && comparableFilter(found), comparableFilter(wanted));
}

function isSameAction(
  found: Pick<RuleInput, 'action'> | undefined,
  wanted: Pick<RuleInput, 'action'>,
): boolean {
  const [before, after] = [found?.action, wanted.action].map(
    (action) => action && { ...action, parameters: comparableValues(action.parameters) },
  );
  return isDeepStrictEqual(before, after);
}

function comparableFilter(filter: Filter): unknown {
  switch (filter.kind) {
    case 'sql':
      return { ...filter, parameters: comparableValues(filter.parameters) };
    case 'correlation':
      return { ...filter, properties: comparableValues(filter.properties) };
    default:
      return filter;
  }
}

function comparableValues(values: Properties): unknown {
  return new Map(Object.entries(values).map(([name, value]) => [name, comparable(value)]));
}

/** Management shows a number beyond 32 bits as a double, and the spelling of an instant does not count. */
function comparable(value: PropertyValue): unknown {
  if (value.type === 'long' || value.type === 'double') return ['wide', String(value.value)];
  return value.type === 'dateTime' ? [value.type, value.value] : value;
}

function keyOf({ name }: RuleInput): string {
  return name.toLowerCase();
}
