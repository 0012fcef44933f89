import { argumentError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import { DAY_MS } from '../units.ts';
import { type EntityDescription, QUEUE_DEFAULTS } from './descriptions.ts';
import { durationText, type KindName } from './setting-checks.ts';

/** The tiers of namespaces. They differ in the settings that entities may have (semantics N15). */
export type Tier = 'Standard' | 'Basic' | 'Premium';

/** A namespace with its tier. Errors contain the name. */
export interface TieredNamespace {
  readonly name: string;
  readonly tier: Tier;
}

/** The operation in which a client sets the settings of an entity. */
export type SettingsOperation = 'creating' | 'updating';

/** The settings in a client's request that depend on the tier. */
interface TierSettings {
  readonly kind: EntityDescription['kind'];
  readonly requiresSession?: boolean;
  readonly requiresDuplicateDetection?: boolean;
  readonly enablePartitioning?: boolean;
  readonly partitions?: number;
  readonly defaultTimeToLiveMs?: number;
  readonly autoDeleteOnIdleMs?: number;
  readonly forwardTo?: string;
  readonly forwardDeadLetteredMessagesTo?: string;
  readonly maxMessageSizeInKilobytes?: number;
}

/** In Basic both the default and the maximum (semantics #57, #A13). */
const BASIC_TIME_TO_LIVE_MS = 14 * DAY_MS;
const PREMIUM_MESSAGE_KILOBYTES = 1024;
const { maxMessageSizeInKilobytes: USUAL_MESSAGE_KILOBYTES } = QUEUE_DEFAULTS;

const KIND_NAMES = {
  queue: 'Queue',
  topic: 'Topic',
  subscription: 'Subscription',
} as const satisfies Record<EntityDescription['kind'], KindName>;

/**
 * Checks the settings in a request against the tier, and adds the defaults in which the tier differs
 * (semantics N16, N17, #57). Settings that only a creation can set are checked only there: an update cannot
 * change them, and an entity that is older than the namespace's tier must remain updatable. `current` = the
 * description before an update. Throws ArgumentError.
 */
export function withinTier<S extends TierSettings>(
  input: S,
  namespace: TieredNamespace,
  operation: SettingsOperation,
  current?: EntityDescription,
): S {
  if (namespace.tier === 'Premium') return withinPremium(input, namespace, operation, current);
  requireUsualMessages(input, namespace, operation, current);
  return namespace.tier === 'Basic' ? withinBasic(input, namespace, operation) : input;
}

/**
 * Only in Premium can the maximum message size be set (asserted by tests of the vendor's clients, and
 * recorded). Clients send the size that they have read, so the usual size and the entity's current size are
 * accepted.
 */
function requireUsualMessages(
  { kind, maxMessageSizeInKilobytes: kilobytes = USUAL_MESSAGE_KILOBYTES }: TierSettings,
  namespace: TieredNamespace,
  operation: SettingsOperation,
  current: TierSettings | undefined,
): void {
  if ([USUAL_MESSAGE_KILOBYTES, current?.maxMessageSizeInKilobytes].includes(kilobytes)) return;
  const what = cannotBeSet('maxMessageSizeInKilobytes', KIND_NAMES[kind], operation);
  throw refusal(what, namespace, ['Premium']);
}

function withinBasic<S extends TierSettings>(
  input: S,
  namespace: TieredNamespace,
  operation: SettingsOperation,
): S {
  const refuse = (what: string) => refusal(what, namespace, ['Standard', 'Premium']);
  const word = KIND_NAMES[input.kind];
  if (operation === 'creating' && input.kind !== 'queue')
    throw refuse(`A ${word} can't be created`);
  const property = beyondBasic(input, operation);
  if (property !== undefined) throw refuse(cannotBeSet(property, word, operation));
  return { ...input, defaultTimeToLiveMs: basicTimeToLive(input, namespace) };
}

/** The first property in a request that Basic does not support. */
function beyondBasic(input: TierSettings, operation: SettingsOperation): string | undefined {
  const { autoDeleteOnIdleMs = Infinity, forwardTo, forwardDeadLetteredMessagesTo } = input;
  const created = operation === 'creating';
  const wanted = {
    requiresSession: created && input.requiresSession,
    requiresDuplicateDetection: created && input.requiresDuplicateDetection,
    forwardTo: forwardTo !== undefined,
    forwardDeadLetteredMessagesTo: forwardDeadLetteredMessagesTo !== undefined,
    // The maximum turns it off, and clients send it by default.
    autoDeleteOnIdle: autoDeleteOnIdleMs !== Infinity,
  };
  return Object.entries(wanted).find(([, isWanted]) => isWanted)?.[0];
}

/** Clients send "unlimited" by default, so it is accepted and means the maximum. */
function basicTimeToLive(
  { defaultTimeToLiveMs: ms = Infinity }: TierSettings,
  { name }: TieredNamespace,
) {
  if (ms === Infinity) return BASIC_TIME_TO_LIVE_MS;
  if (ms <= BASIC_TIME_TO_LIVE_MS) return ms;
  throw argumentError(
    `The value '${durationText(ms)}' of the 'defaultMessageTimeToLive' property is above '${durationText(BASIC_TIME_TO_LIVE_MS)}', the maximum in the 'Basic' Tier, which the namespace '${name}' is using.`,
  );
}

/** Throws ArgumentError where the tier has no transactions (semantics U1). */
export function requireTransactions(namespace: TieredNamespace): void {
  if (namespace.tier !== 'Basic') return;
  throw refusal("Transactions can't be used", namespace, ['Standard', 'Premium']);
}

/**
 * In Premium, partitioned entities have two partitions, and the size that a client sets is that of both
 * together.
 */
function withinPremium<S extends TierSettings>(
  input: S,
  { name }: TieredNamespace,
  operation: SettingsOperation,
  current: TierSettings | undefined,
): S {
  if (input.kind === 'subscription') return input;
  const { maxMessageSizeInKilobytes: kilobytes = PREMIUM_MESSAGE_KILOBYTES } = input;
  if (kilobytes !== current?.maxMessageSizeInKilobytes) requireMessageKilobytes(kilobytes, name);
  const isPartitioned = operation === 'creating' && input.enablePartitioning === true;
  return {
    maxMessageSizeInKilobytes: PREMIUM_MESSAGE_KILOBYTES,
    ...input,
    ...(isPartitioned ? { partitions: LIMITS.partitionsPremium } : {}),
  };
}

/** The service's own sentence. */
function requireMessageKilobytes(kilobytes: number, namespace: string): void {
  if (kilobytes >= PREMIUM_MESSAGE_KILOBYTES && kilobytes <= LIMITS.messageKilobytesMax) return;
  throw argumentError(
    `The property value for 'MaxMessageSizeInKilobytes' must be between ${PREMIUM_MESSAGE_KILOBYTES} and ${LIMITS.messageKilobytesMax} when the namespace '${namespace}' is using 'Premium' tier. Actual value was ${kilobytes}.`,
  );
}

function cannotBeSet(property: string, word: KindName, operation: SettingsOperation): string {
  return `The property '${property}' can't be set when ${operation} a ${word}`;
}

/** The service's own sentence (semantics N16). */
function refusal(what: string, { name, tier }: TieredNamespace, others: readonly Tier[]) {
  return argumentError(
    `${what} because the namespace '${name}' is using the '${tier}' Tier. This operation is only supported in '${others.join("' or '")}' tier.`,
  );
}
