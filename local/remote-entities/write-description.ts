import { authorizationRule, descriptionElement } from '../../lambdas/http/atom/write-entity.ts';
import { ruleElements, writeRule } from '../../lambdas/http/atom/write-rule.ts';
import { element, type Xml } from '../../lambdas/http/atom/write-xml.ts';
import type { EntitySettings } from '../../shared/broker/management/describe-entity.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import { fileName, SETTINGS, type SettingForm } from '../../shared/config/setting-table.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import type { AuthorizationRuleInput } from '../../shared/domain/entities/authorization-rules.ts';

const DESCRIPTIONS = {
  queue: 'QueueDescription',
  topic: 'TopicDescription',
  subscription: 'SubscriptionDescription',
} as const;

/**
 * The description with which a client creates or updates the entity at a path: the given settings alone, since the
 * defaults of the others depend on the tier.
 */
export function writeDescription(path: string, settings: EntitySettings): string {
  const given = new Map<string, unknown>(Object.entries(settings));
  const elements = Object.entries(SETTINGS[settings.kind]).map(([setting, { field, form }]) => {
    const value = given.get(field);
    return value === undefined ? undefined : settingElement(fileName(setting), form, value, path);
  });
  const rule = settings.kind === 'subscription' ? settings.defaultRule : undefined;
  const first = rule && element('DefaultRuleDescription', ruleElements(rule));
  return descriptionElement(DESCRIPTIONS[settings.kind], [...elements, first]).xml;
}

/** The description of a rule. */
export function writeRuleOf(rule: RuleInput): string {
  return writeRule(rule).xml;
}

function settingElement(name: string, form: SettingForm, value: unknown, path: string): Xml {
  switch (form) {
    case 'duration':
    case 'unlimitedDuration':
      return element(name, formatDuration(value === Infinity ? undefined : Number(value)));
    case 'policies': {
      const policies = value as readonly AuthorizationRuleInput[];
      return element(
        name,
        policies.map((policy) => authorizationRule(policy)),
      );
    }
    case 'destination': {
      // A queue can be its own destination only by its address (semantics #126).
      const isOwn = String(value).toLowerCase() === path.toLowerCase();
      return element(name, isOwn ? `sb://namespace/${value}` : String(value));
    }
    default:
      return element(name, String(value));
  }
}
