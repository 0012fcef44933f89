import { useId } from 'preact/hooks';
import { type SettingField, STATUSES } from './settings-fields.ts';

/** The inputs of settings, with the values of an entity. */
export function SettingInputs({
  fields,
  values,
}: {
  readonly fields: readonly SettingField[];
  readonly values: Readonly<Record<string, unknown>>;
}) {
  const id = useId();
  return (
    <div class="settings">
      {fields.map((field) => (
        <div key={field.name} class={field.type === 'flag' ? 'check' : 'field'}>
          <Input id={`${id}-${field.name}`} field={field} value={values[field.name]} />
          <label htmlFor={`${id}-${field.name}`}>
            {field.label} {field.hint !== undefined && <small>{field.hint}</small>}
          </label>
        </div>
      ))}
    </div>
  );
}

function Input({
  id,
  field: { name, type },
  value,
}: {
  readonly id: string;
  readonly field: SettingField;
  readonly value: unknown;
}) {
  switch (type) {
    case 'flag':
      return <input id={id} type="checkbox" name={name} defaultChecked={value === true} />;
    case 'status':
      return (
        <select id={id} name={name}>
          {STATUSES.map((status) => (
            <option key={status} selected={status === value}>
              {status}
            </option>
          ))}
        </select>
      );
    case 'number':
      return <input id={id} name={name} type="number" min={1} defaultValue={String(value ?? '')} />;
    default:
      return (
        <input
          id={id}
          name={name}
          autocomplete="off"
          spellcheck={false}
          defaultValue={String(value ?? '')}
        />
      );
  }
}
