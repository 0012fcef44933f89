import { formatDuration } from '../domain/duration.ts';
import type { AuthorizationRule } from '../domain/entities/descriptions.ts';
import type { SettingForm } from './setting-table.ts';

/** The value of a setting of a description as the vendor's file has it; an absent destination or text is empty. */
export function writtenSetting(form: SettingForm, value: unknown): unknown {
  switch (form) {
    case 'duration':
    case 'unlimitedDuration':
      return formatDuration(typeof value === 'number' ? value : undefined);
    case 'destination':
    case 'text':
      return value ?? '';
    case 'policies':
      return Array.isArray(value) ? value.map(writtenPolicy) : [];
    default:
      return value;
  }
}

function writtenPolicy({ keyName, rights, primaryKey, secondaryKey }: AuthorizationRule) {
  return {
    KeyName: keyName,
    Rights: rights,
    PrimaryKey: primaryKey,
    SecondaryKey: secondaryKey,
  };
}
