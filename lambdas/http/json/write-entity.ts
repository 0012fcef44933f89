import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { MessageCounts } from '../../../shared/broker/ports/management.ts';
import { SETTINGS, type SettingForm } from '../../../shared/config/setting-table.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import type { AuthorizationRule } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { totalMegabytes } from '../../../shared/domain/entities/entity-settings.ts';
import { isoDate } from '../format/date-text.ts';
import type { AddressOf } from '../management/links.ts';
import { totalCount } from '../management/total-count.ts';

/**
 * The JSON of an entity: its settings by the names of the official administration client, its counts and times
 * (semantics G27). What is unlimited or not set is left out. `readEntity` reads the same settings from it.
 */
export function entityJson(
  report: EntityReport,
  addressOf: AddressOf,
): Readonly<Record<string, unknown>> {
  const { entity } = report;
  const { kind } = entity.description;
  return {
    kind,
    name: entity.name,
    ...names(entity),
    ...settings(entity, addressOf),
    ...counts(report.messages),
    ...(kind === 'topic' && { subscriptionCount: report.subscriptions }),
    ...(report.filters && {
      sqlFilterCount: report.filters.sql,
      correlationFilterCount: report.filters.correlation,
    }),
    ...times(report),
  };
}

function names({ description, name }: Entity) {
  if (description.kind !== 'subscription') return {};
  const [topicName, subscriptionName] = name.split(/\/Subscriptions\/(?=[^/]+$)/);
  return { topicName, subscriptionName };
}

function settings({ name: own, description }: Entity, addressOf: AddressOf) {
  const values: Readonly<Record<string, unknown>> =
    description.kind === 'subscription'
      ? { ...description }
      : { ...description, maxSizeInMegabytes: totalMegabytes(description) };
  const members: Record<string, unknown> = {};
  for (const [setting, { field, form }] of MEMBERS[description.kind]) {
    const value = values[field];
    if (value === undefined) continue;
    // An entity can be its own destination only by its address (semantics #126).
    const isOwn = form === 'destination' && String(value).toLowerCase() === own.toLowerCase();
    members[setting] = isOwn ? addressOf(own) : settingJson(form, value);
  }
  return members;
}

/** The settings of each kind in their order. A list of all entities reads them ten thousand times. */
const MEMBERS = {
  queue: Object.entries(SETTINGS.queue),
  topic: Object.entries(SETTINGS.topic),
  subscription: Object.entries(SETTINGS.subscription),
} as const;

function settingJson(form: SettingForm, value: unknown): unknown {
  if (form === 'policies') return Array.isArray(value) ? value.map(policyJson) : [];
  const isDuration = form === 'duration' || form === 'unlimitedDuration';
  return isDuration && typeof value === 'number' ? formatDuration(value) : value;
}

function policyJson({ keyName, rights, primaryKey, secondaryKey }: AuthorizationRule) {
  return { keyName, accessRights: rights, primaryKey, secondaryKey };
}

function counts(messages: MessageCounts) {
  return {
    activeMessageCount: messages.active,
    deferredMessageCount: messages.deferred,
    deadLetterMessageCount: messages.deadLetter,
    scheduledMessageCount: messages.scheduled,
    transferMessageCount: messages.transfer,
    transferDeadLetterMessageCount: messages.transferDeadLetter,
    totalMessageCount: totalCount(messages),
    countsAreEstimates: messages.isEstimate,
    sizeInBytes: messages.size,
  };
}

function times({ entity, messages: { accessedAt } }: EntityReport) {
  return {
    createdAt: isoDate(entity.createdAt),
    modifiedAt: isoDate(entity.updatedAt),
    ...(accessedAt !== undefined && { accessedAt: isoDate(accessedAt) }),
  };
}
