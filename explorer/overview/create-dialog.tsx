import { useState } from 'preact/hooks';
import { partPathOf, requireEntityPath } from '../../client/entity-path.ts';
import type { ListedEntity } from '../../client/everything.ts';
import { SettingInputs } from '../entity/setting-inputs.tsx';
import { SETTING_FIELDS, withFields } from '../entity/settings-fields.ts';
import { useConnection } from '../namespace/connection.ts';
import { put } from '../namespace/manage.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { hrefOf } from '../ui/route.ts';
import { useAttempt } from '../ui/use-attempt.ts';

/** Settings that are on unless somebody turns them off. */
const DEFAULTS = { deadLetteringOnFilterEvaluationExceptions: true } as const;
const KINDS = ['queue', 'topic', 'subscription'] as const;

/** Asks for a new entity, and creates it. `topic` = of a new subscription. */
export function CreateDialog({
  topic,
  onClose,
}: {
  readonly topic?: string | undefined;
  readonly onClose: () => void;
}) {
  const { caller } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [kind, setKind] = useState<ListedEntity['kind']>(
    topic === undefined ? 'queue' : 'subscription',
  );
  const fields = SETTING_FIELDS.filter(({ of, name }) => of.includes(kind) && name !== 'status');
  const submit = async (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const name = text('name');
    const settings = withFields({ kind }, fields, form);
    const sql = text('rule');
    const json = sql === '' ? settings : { ...settings, defaultRule: { name: '$Default', sql } };
    await attempt(async () => {
      const parent = `${topic ?? text('topic')}/Subscriptions`;
      const path = kind === 'subscription' ? partPathOf(parent, name) : name;
      requireEntityPath(path);
      await put(caller, path, json);
      onClose();
      location.hash = hrefOf({ view: 'entity', entity: path, tab: '' });
    });
  };
  return (
    <Dialog
      title={topic === undefined ? 'Create an entity' : `Add a subscription to ${topic}`}
      action="Create"
      isBusy={isBusy}
      onClose={onClose}
      onSubmit={(form) => void submit(form)}
    >
      {topic === undefined && (
        <label class="field">
          Kind
          <select
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as ListedEntity['kind'])}
          >
            {KINDS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
      {topic === undefined && kind === 'subscription' && (
        <label class="field">
          Topic
          <input name="topic" required autocomplete="off" />
        </label>
      )}
      <label class="field">
        Name
        <input name="name" required autocomplete="off" spellcheck={false} />
      </label>
      {kind === 'subscription' && (
        <label class="field">
          Its rule, as SQL; empty = every message
          <input name="rule" autocomplete="off" spellcheck={false} placeholder="Quantity > 100" />
        </label>
      )}
      <details>
        <summary>Settings</summary>
        <SettingInputs key={kind} fields={fields} values={DEFAULTS} />
      </details>
      {error !== undefined && <ErrorNotice error={error} />}
    </Dialog>
  );
}
