/** The entities of a namespace, in the form of the Config.json of the vendor's emulator. */
export interface NamespaceConfig {
  readonly Queues: readonly EntityConfig[];
  readonly Topics: readonly TopicConfig[];
}

/** The settings of an entity: durations in ISO 8601, destinations by name. */
export type EntityProperties = Readonly<Record<string, string | number | boolean>>;

/** A queue. */
export interface EntityConfig {
  readonly Name: string;
  readonly Properties: EntityProperties;
}

/** A topic with its subscriptions. */
export interface TopicConfig extends EntityConfig {
  readonly Subscriptions: readonly SubscriptionConfig[];
}

/** A subscription. Without rules it gets the default rule, which matches every message. */
export interface SubscriptionConfig extends EntityConfig {
  readonly Rules: readonly RuleConfig[];
}

/** A rule. */
export interface RuleConfig {
  readonly Name: string;
  readonly Properties: {
    readonly FilterType: 'Sql' | 'Correlation';
    readonly SqlFilter?: { readonly SqlExpression: string };
    readonly CorrelationFilter?: Readonly<Record<string, unknown>>;
    readonly Action?: { readonly SqlExpression: string };
  };
}

/** The settings that the file has, in its order. */
export const CONFIG_SETTINGS = {
  QueueDescription: [
    ...['DeadLetteringOnMessageExpiration', 'DefaultMessageTimeToLive'],
    ...['DuplicateDetectionHistoryTimeWindow', 'ForwardDeadLetteredMessagesTo', 'ForwardTo'],
    ...['LockDuration', 'MaxDeliveryCount', 'RequiresDuplicateDetection', 'RequiresSession'],
  ],
  TopicDescription: [
    ...['DefaultMessageTimeToLive', 'DuplicateDetectionHistoryTimeWindow'],
    'RequiresDuplicateDetection',
  ],
  SubscriptionDescription: [
    ...['DeadLetteringOnMessageExpiration', 'DefaultMessageTimeToLive', 'LockDuration'],
    ...['MaxDeliveryCount', 'ForwardDeadLetteredMessagesTo', 'ForwardTo', 'RequiresSession'],
  ],
} as const;

/** The kinds of descriptions that the file has settings for. */
export type ConfigKind = keyof typeof CONFIG_SETTINGS;

/** The fields of a correlation filter beside its Properties. */
export const CORRELATION_FIELDS = [
  ...['ContentType', 'CorrelationId', 'Label', 'MessageId', 'ReplyTo', 'ReplyToSessionId'],
  ...['SessionId', 'To'],
];
