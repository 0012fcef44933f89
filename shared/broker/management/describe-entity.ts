import type { RandomSource } from '../../domain/clock.ts';
import {
  type AuthorizationRuleInput,
  authorizationRules,
} from '../../domain/entities/authorization-rules.ts';
import type {
  EntityDescription,
  QueueDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../../domain/entities/descriptions.ts';
import {
  newQueue,
  newSubscription,
  newTopic,
  type SettingsInput,
  updateQueue,
  updateSubscription,
  updateTopic,
} from '../../domain/entities/entity-settings.ts';
import { type TieredNamespace, withinTier } from '../../domain/entities/tier.ts';
import type { RuleInput } from '../ports/management.ts';

type WithRuleInputs<Description> = Omit<SettingsInput<Description>, 'authorizationRules'> & {
  readonly authorizationRules?: readonly AuthorizationRuleInput[];
};

/** What a client says of an entity it creates or updates. */
export type EntitySettings =
  | ({ readonly kind: 'queue' } & WithRuleInputs<QueueDescription>)
  | ({ readonly kind: 'topic' } & WithRuleInputs<TopicDescription>)
  | ({
      readonly kind: 'subscription';
      readonly defaultRule?: RuleInput;
    } & SettingsInput<SubscriptionDescription>);

/** What a description depends on beside the settings. */
export interface DescriptionContext {
  /** Undefined = a namespace of the Standard tier, whose settings the tier does not limit. */
  readonly namespace: TieredNamespace | undefined;
  /** Epoch ms. */
  readonly now: number;
  /** The source of the keys that the settings leave out. */
  readonly random: RandomSource;
}

/**
 * The description that an entity has after its creation, or after an update of `current`, with these settings. Throws
 * ArgumentError.
 */
export function describeEntity(
  input: EntitySettings,
  current: EntityDescription | undefined,
  context: DescriptionContext,
): EntityDescription {
  const { namespace } = context;
  const operation = current === undefined ? 'creating' : 'updating';
  const settings =
    namespace === undefined ? input : withinTier(input, namespace, operation, current);
  switch (settings.kind) {
    case 'queue': {
      const keyed = withKeys(settings, current, context);
      return current?.kind === 'queue' ? updateQueue(current, keyed) : newQueue(keyed);
    }
    case 'topic': {
      const keyed = withKeys(settings, current, context);
      return current?.kind === 'topic' ? updateTopic(current, keyed) : newTopic(keyed);
    }
    case 'subscription': {
      const { defaultRule: _, ...subscription } = settings;
      return current?.kind === 'subscription'
        ? updateSubscription(current, subscription)
        : newSubscription(subscription);
    }
  }
}

function withKeys<S extends { readonly authorizationRules?: readonly AuthorizationRuleInput[] }>(
  settings: S,
  current: EntityDescription | undefined,
  { now, random }: DescriptionContext,
) {
  const { authorizationRules: rules = [], ...others } = settings;
  const before =
    current === undefined || current.kind === 'subscription' ? [] : current.authorizationRules;
  return { ...others, authorizationRules: authorizationRules(rules, before, now, random) };
}
