import { useState } from 'preact/hooks';
import { RefusalError } from '../../client/client-errors.ts';
import type { ListedEntity } from '../../client/everything.ts';
import { mayHaveTakenEffect } from '../api/effect.ts';
import { useConnection } from '../namespace/connection.ts';
import { getEntity, put, type Versioned } from '../namespace/manage.ts';
import { useAttempt } from '../ui/use-attempt.ts';
import { SETTING_FIELDS, type SettingField, withFields } from './settings-fields.ts';

/** The settings of an entity in a form. */
export interface EditedSettings {
  /** As they were read. */
  readonly json: ListedEntity;
  /** The fields that can be changed, and their values when the form is drawn. */
  readonly fields: readonly SettingField[];
  readonly values: Readonly<Record<string, unknown>>;
  /** A form with another number is drawn anew. */
  readonly readings: number;
  readonly isBusy: boolean;
  readonly error: unknown;
  /** How it goes, as a sentence. */
  readonly said: string;
  /** Whether what is stored is not known any more: nothing can be saved before it is read. */
  readonly isUnread: boolean;
  /** Whether the form may be another one than what is stored. */
  readonly mayReadAgain: boolean;
  /** Keeps what the form has, for when somebody looks elsewhere and returns. */
  readonly keep: (form: FormData) => void;
  readonly save: (form: FormData) => Promise<void>;
  /** Reads what is stored, in place of what the form has. */
  readonly readAgain: () => Promise<void>;
}

/** Edits settings. Counts are read again and again, but what somebody writes here stays. */
export function useSettings(
  entity: Versioned<ListedEntity>,
  onChanged: () => void,
): EditedSettings {
  const { caller, unsavedSettings } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const { name, kind } = entity.json;
  const [{ read, written, readings }, setShown] = useState(() => {
    const kept = unsavedSettings.get(name);
    // What was written about an entity is not about a later one with its name.
    const isSame = kept?.read.json['createdAt'] === entity.json['createdAt'];
    if (kept === undefined || !isSame) return { read: entity, written: undefined, readings: 0 };
    return { ...kept, readings: 0 };
  });
  const [said, setSaid] = useState(written === undefined ? '' : 'Not saved yet.');
  const [isUnread, setUnread] = useState(false);
  const fields = SETTING_FIELDS.filter(({ of, isFixed }) => of.includes(kind) && !isFixed);
  const readNow = () =>
    attempt(async () => {
      const now = await getEntity(caller, name);
      unsavedSettings.delete(name);
      setShown({ read: now, written: undefined, readings: readings + 1 });
    });
  return {
    json: read.json,
    fields,
    values: written ?? read.json,
    readings,
    isBusy,
    error,
    said,
    isUnread,
    mayReadAgain: isUnread || written !== undefined || mayDiffer(error),
    keep: (form) => {
      if (!isUnread)
        unsavedSettings.set(name, { read, written: withFields(read.json, fields, form) });
    },
    save: async (form) => {
      setSaid('');
      const changed = withFields(read.json, fields, form);
      if (!(await attempt(() => put(caller, name, changed, read.etag)))) return;
      unsavedSettings.delete(name);
      const isRead = await readNow();
      setUnread(!isRead);
      setSaid(isRead ? 'Saved.' : 'Saved. What is stored now could not be read:');
      onChanged();
    },
    readAgain: async () => {
      const isRead = await readNow();
      if (!isRead) return;
      setUnread(false);
      setSaid('');
    },
  };
}

/** Whether somebody else has changed the settings, or what was saved may be stored. */
function mayDiffer(error: unknown): boolean {
  if (error === undefined) return false;
  return mayHaveTakenEffect(error) || (error instanceof RefusalError && error.status === 412);
}
