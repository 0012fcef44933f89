import type { EntityDescription } from '../domain/entities/descriptions.ts';

/** The form of a setting's value. */
export type SettingForm =
  | 'duration'
  | 'unlimitedDuration'
  | 'boolean'
  | 'wholeNumber'
  | 'text'
  | 'destination'
  | 'policies';

/** A setting as configurations name it. */
export interface Setting {
  /** The field of the domain's description. */
  readonly field: string;
  readonly form: SettingForm;
}

/** The kinds of entities. */
export type EntityKind = EntityDescription['kind'];

/** Settings by their camelCase names; the vendor's file begins them with an upper-case letter. */
export type SettingTable = Readonly<Record<string, Setting>>;

const same = <Name extends string>(form: SettingForm, ...names: readonly Name[]): SettingTable =>
  Object.fromEntries(names.map((field) => [field, { field, form }]));

const COMMON: SettingTable = {
  // An unlimited one is absent in the domain.
  defaultMessageTimeToLive: { field: 'defaultTimeToLiveMs', form: 'unlimitedDuration' },
  autoDeleteOnIdle: { field: 'autoDeleteOnIdleMs', form: 'unlimitedDuration' },
  ...same('boolean', 'enableBatchedOperations'),
  ...same('text', 'status', 'userMetadata'),
};

const INGRESS: SettingTable = {
  duplicateDetectionHistoryTimeWindow: { field: 'duplicateDetectionMs', form: 'duration' },
  ...same('wholeNumber', 'maxSizeInMegabytes', 'maxMessageSizeInKilobytes'),
  ...same(
    'boolean',
    'requiresDuplicateDetection',
    'supportOrdering',
    'enablePartitioning',
    'enableExpress',
    'isAnonymousAccessible',
  ),
  ...same('policies', 'authorizationRules'),
};

const DELIVERY: SettingTable = {
  lockDuration: { field: 'lockMs', form: 'duration' },
  ...same('boolean', 'requiresSession', 'deadLetteringOnMessageExpiration'),
  ...same('wholeNumber', 'maxDeliveryCount'),
  ...same('destination', 'forwardTo', 'forwardDeadLetteredMessagesTo'),
};

/** The settings of each kind of entity. */
export const SETTINGS: Readonly<Record<EntityKind, SettingTable>> = {
  queue: { ...COMMON, ...INGRESS, ...DELIVERY },
  topic: {
    ...COMMON,
    ...INGRESS,
    ...same('boolean', 'filteringMessagesBeforePublishing', 'enableSubscriptionPartitioning'),
  },
  subscription: {
    ...COMMON,
    ...DELIVERY,
    ...same('boolean', 'deadLetteringOnFilterEvaluationExceptions'),
  },
};

/** The settings of a consumer, as configurations and JSON name them. */
export const CONSUMER_SETTINGS: SettingTable = {
  ...same('text', 'target'),
  ...same('wholeNumber', 'maxBatch'),
  batchWindow: { field: 'batchWindowMs', form: 'duration' },
  ...same('wholeNumber', 'maxConcurrency', 'maxPerSecond'),
  timeout: { field: 'timeoutMs', form: 'duration' },
  ...same('boolean', 'enabled'),
};

const ALWAYS_INGRESS = [
  'defaultMessageTimeToLive',
  'duplicateDetectionHistoryTimeWindow',
  'requiresDuplicateDetection',
];
const ALWAYS_DELIVERY = [
  'deadLetteringOnMessageExpiration',
  'defaultMessageTimeToLive',
  'forwardDeadLetteredMessagesTo',
  'forwardTo',
  'lockDuration',
  'maxDeliveryCount',
  'requiresSession',
];

/** The settings that the vendor's file has even if they have their defaults. */
export const ALWAYS_WRITTEN: Readonly<Record<EntityKind, readonly string[]>> = {
  queue: [...ALWAYS_INGRESS, ...ALWAYS_DELIVERY],
  topic: ALWAYS_INGRESS,
  subscription: ALWAYS_DELIVERY,
};

/** `lockDuration` as the vendor's file writes it. */
export function fileName(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
