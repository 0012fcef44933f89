import type { EntitySettings } from '../../broker/management/describe-entity.ts';
import type { RuleInput } from '../../broker/ports/management.ts';
import type { ConsumerSettings } from '../../domain/consumers/consumer.ts';
import type { ConsumerInput } from '../../domain/consumers/consumer-settings.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';

/**
 * What a configuration is applied to: the `Management` of this process, or a namespace that is called. Methods throw
 * BrokerError for a refusal, with the codes of `Management`; any other error ends the work.
 */
export interface ConfigTarget {
  create(path: string, settings: EntitySettings): Promise<unknown>;
  /** Replaces all settings. */
  update(path: string, settings: EntitySettings, ifMatch: '*'): Promise<unknown>;
  get(path: string): Promise<{ readonly description: EntityDescription }>;
  /** The description after a creation, or after an update of `current`, with these settings. Writes nothing. */
  describe(settings: EntitySettings, current?: EntityDescription): EntityDescription;
  readonly rules: RuleTarget;
  readonly consumers: ConsumerTarget;
}

/** The consumers of queues and subscriptions. `path` = that of the queue, the subscription or a dead-letter queue. */
export interface ConsumerTarget {
  /** Creates or replaces a consumer. */
  put(path: string, name: string, input: ConsumerInput): Promise<unknown>;
  remove(path: string, name: string): Promise<unknown>;
  list(
    path: string,
  ): Promise<readonly { readonly consumer: ConsumerSettings & { readonly name: string } }[]>;
}

/** The rules of subscriptions. `path` = that of the subscription. */
export interface RuleTarget {
  create(path: string, rule: RuleInput): Promise<unknown>;
  update(path: string, rule: RuleInput, ifMatch: '*'): Promise<unknown>;
  delete(path: string, name: string): Promise<void>;
  list(
    path: string,
    page: { readonly skip: number; readonly top: number },
  ): Promise<{
    readonly items: readonly { readonly stored: { readonly rule: RuleInput } }[];
    readonly more: boolean;
  }>;
}
