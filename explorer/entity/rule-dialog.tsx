import { useState } from 'preact/hooks';
import { partPathOf } from '../../client/entity-path.ts';
import { useConnection } from '../namespace/connection.ts';
import { putText } from '../namespace/manage.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice, sentenceOf } from '../ui/error-notice.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { tryRule, type WrittenRule } from './try-rule.ts';

const EXAMPLE = `{
  "BrokerProperties": { "Label": "order" },
  "UserProperties": { "Quantity": 150, "Tier": "gold" }
}`;

/** Asks for a new rule, and tries it on a message before it is saved. */
export function RuleDialog({
  subscription,
  onClose,
  onAdded,
}: {
  readonly subscription: string;
  readonly onClose: () => void;
  readonly onAdded: () => void;
}) {
  const { caller } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [rule, setRule] = useState<WrittenRule>({ sql: '', correlation: '', action: '' });
  const [message, setMessage] = useState(EXAMPLE);
  const submit = async (form: FormData) => {
    const isAdded = await attempt(async () => {
      const path = partPathOf(`${subscription}/Rules`, String(form.get('name')).trim());
      await putText(caller, path, jsonOf(rule));
    });
    if (isAdded) onAdded();
  };
  const tried = resultOf(rule, message);
  return (
    <Dialog
      title={`Add a rule to ${subscription}`}
      action="Add"
      isBusy={isBusy}
      onClose={onClose}
      onSubmit={(form) => void submit(form)}
    >
      <label class="field">
        Name
        <input name="name" required autocomplete="off" spellcheck={false} />
      </label>
      <Text
        label="Condition in SQL; empty = every message"
        value={rule.sql}
        onChange={(sql) => setRule({ ...rule, sql })}
      />
      <Text
        label={'Or a correlation filter in JSON: {"subject":"order"}'}
        value={rule.correlation}
        onChange={(correlation) => setRule({ ...rule, correlation })}
      />
      <Text
        label="Action in SQL, such as SET Size = 'L'; empty = none"
        value={rule.action}
        onChange={(action) => setRule({ ...rule, action })}
      />
      <Text label="Try it on this message" value={message} rows={5} onChange={setMessage} />
      <p class={tried.isMatch ? 'notice good' : 'notice'} role="status">
        {tried.sentence}
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
    </Dialog>
  );
}

function Text(props: {
  readonly label: string;
  readonly value: string;
  readonly rows?: number;
  readonly onChange: (value: string) => void;
}) {
  const { label, value, rows = 2, onChange } = props;
  return (
    <label class="field">
      {label}
      <textarea
        rows={rows}
        spellcheck={false}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function resultOf(rule: WrittenRule, message: string) {
  try {
    return tryRule(rule, message, Date.now());
  } catch (error) {
    return { isMatch: false, sentence: sentenceOf(error) };
  }
}

/** The rule as JSON. A correlation filter stays as it is written: the spelling of a number decides its type. */
function jsonOf({ sql, correlation, action }: WrittenRule): string {
  const isAboutAll = sql.trim() === '' && correlation.trim() === '';
  // The service refuses a rule that has both.
  const members = [
    ...(isAboutAll ? ['"sql":"1=1"'] : []),
    ...(sql.trim() === '' ? [] : [`"sql":${JSON.stringify(sql)}`]),
    ...(correlation.trim() === '' ? [] : [`"correlation":${correlation}`]),
    ...(action.trim() === '' ? [] : [`"action":${JSON.stringify(action)}`]),
  ];
  return `{${members.join(',')}}`;
}
