import { hasUnseen } from '../messages/visible-text.ts';
import { type Draft, SYSTEM_FIELDS } from './draft.ts';

/** The fields of a message. */
export function DraftFields({
  draft,
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}) {
  const { body, isBase64, system, properties } = draft;
  return (
    <>
      {hasUnseen(body + properties) && (
        <p class="notice">
          The fields have characters that one does not see, or that turn the direction of text.
        </p>
      )}
      <label class="field">
        {isBase64 ? 'Body, as base64' : 'Body'}
        <textarea
          rows={6}
          spellcheck={false}
          value={body}
          onInput={(event) => onChange({ ...draft, body: event.currentTarget.value })}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isBase64}
          onChange={(event) => onChange({ ...draft, isBase64: event.currentTarget.checked })}
        />
        The body is base64
      </label>
      <div class="settings">
        {SYSTEM_FIELDS.map(([name, label]) => (
          <label key={name} class="field">
            {label}
            <input
              autocomplete="off"
              spellcheck={false}
              value={system[name] ?? ''}
              onInput={(event) =>
                onChange({ ...draft, system: { ...system, [name]: event.currentTarget.value } })
              }
            />
          </label>
        ))}
      </div>
      <label class="field">
        Properties, as JSON
        <textarea
          rows={3}
          spellcheck={false}
          value={properties}
          onInput={(event) => onChange({ ...draft, properties: event.currentTarget.value })}
        />
      </label>
    </>
  );
}
