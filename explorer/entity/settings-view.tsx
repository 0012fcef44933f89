import { useState } from 'preact/hooks';
import type { ListedEntity } from '../../client/everything.ts';
import { useConnection } from '../namespace/connection.ts';
import { remove, type Versioned } from '../namespace/manage.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { ReadOnlyHint } from '../ui/read-only-hint.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useObservable } from '../ui/use-observable.ts';
import { SettingInputs } from './setting-inputs.tsx';
import { SETTING_FIELDS } from './settings-fields.ts';
import { useSettings } from './use-settings.ts';

/** The settings of an entity; they are written only if nobody has changed them meanwhile. */
export function SettingsView({
  entity,
  onChanged,
}: {
  readonly entity: Versioned<ListedEntity>;
  readonly onChanged: () => void;
}) {
  const settings = useSettings(entity, onChanged);
  const { json, fields, values, readings, isBusy, isUnread, said, error } = settings;
  const readOnly = useObservable(useConnection().isReadOnly);
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <form
        class="sheet"
        onInput={(event) => settings.keep(new FormData(event.currentTarget))}
        onSubmit={(event) => {
          event.preventDefault();
          void settings.save(new FormData(event.currentTarget));
        }}
      >
        <fieldset key={readings} disabled={readOnly || isBusy}>
          <SettingInputs fields={fields} values={values} />
          <p class="hint">{fixedText(json)}</p>
          {readOnly && <ReadOnlyHint to="change settings" />}
          {!readOnly && (
            <div class="buttons">
              <button type="button" class="danger" onClick={() => setDeleting(true)}>
                Delete {json.name}…
              </button>
              <p role="status">{said}</p>
              <button type="submit" class="primary" disabled={isUnread}>
                Save
              </button>
            </div>
          )}
        </fieldset>
        {error !== undefined && <ErrorNotice error={error} />}
        {settings.mayReadAgain && (
          <button type="button" disabled={isBusy} onClick={() => void settings.readAgain()}>
            Read the settings again
          </button>
        )}
        <details>
          <summary>As JSON</summary>
          <pre>{JSON.stringify(json, withoutKeys, 2)}</pre>
        </details>
      </form>
      {isDeleting && <DeleteDialog entity={json} onClose={() => setDeleting(false)} />}
    </>
  );
}

/** The settings that cannot be changed. */
function fixedText(json: ListedEntity): string {
  return SETTING_FIELDS.filter(({ of, isFixed }) => isFixed && of.includes(json.kind))
    .map(({ name, label }) => `${label}: ${json[name] === true ? 'yes' : 'no'}`)
    .join(' · ');
}

/** Keys of rules are not shown to whoever looks over a shoulder. */
function withoutKeys(name: string, value: unknown): unknown {
  return name === 'primaryKey' || name === 'secondaryKey' ? '…' : value;
}

const WITH: Readonly<Record<ListedEntity['kind'], string>> = {
  queue: 'all its messages and dead letters',
  subscription: 'its rules, and all its messages and dead letters',
  topic: 'all its subscriptions and their messages and dead letters',
};

function DeleteDialog({
  entity: { name, kind },
  onClose,
}: {
  readonly entity: ListedEntity;
  readonly onClose: () => void;
}) {
  const { caller, unsavedSettings } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [typed, setTyped] = useState('');
  const submit = async () => {
    if (!(await attempt(() => remove(caller, name)))) return;
    unsavedSettings.delete(name);
    location.hash = '#/';
  };
  return (
    <Dialog
      title={`Delete ${name}`}
      action="Delete"
      isDangerous
      isDisabled={typed !== name}
      isBusy={isBusy}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <p>
        Deletes {name} with {WITH[kind]}. This cannot be undone.
      </p>
      <label class="field">
        Type {name} to delete it
        <input
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && <ErrorNotice error={error} />}
    </Dialog>
  );
}
