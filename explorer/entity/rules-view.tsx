import { useCallback, useEffect, useState } from 'preact/hooks';
import { partPathOf } from '../../client/entity-path.ts';
import { useConnection } from '../namespace/connection.ts';
import { listRules, remove, type ShownRule } from '../namespace/manage.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useObservable } from '../ui/use-observable.ts';
import { RuleDialog } from './rule-dialog.tsx';

/** The rules of a subscription. */
export function RulesView({ subscription }: { readonly subscription: string }) {
  const { caller, isReadOnly } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const [rules, setRules] = useState<readonly ShownRule[]>();
  const [isAdding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<string>();
  const { attempt, error, isBusy } = useAttempt();
  const read = useCallback(
    () => attempt(async () => setRules(await listRules(caller, subscription))),
    [attempt, caller, subscription],
  );
  useEffect(() => {
    void read();
  }, [read]);
  const removeRule = async (name: string) => {
    setDeleting(undefined);
    const isRemoved = await attempt(async () => {
      await remove(caller, partPathOf(`${subscription}/Rules`, name));
    });
    if (isRemoved) await read();
  };
  return (
    <section class="sheet">
      {error !== undefined && <ErrorNotice error={error} />}
      {rules?.length === 0 && (
        <p class="hint">Without a rule, the subscription gets no messages.</p>
      )}
      <ul class="cards">
        {rules?.map((rule) => (
          <li key={rule.name}>
            <h2>{rule.name}</h2>
            <pre>{ruleText(rule)}</pre>
            {!readOnly && (
              <button type="button" disabled={isBusy} onClick={() => setDeleting(rule.name)}>
                Delete rule {rule.name}
              </button>
            )}
          </li>
        ))}
      </ul>
      {!readOnly && (
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          Add a rule…
        </button>
      )}
      {deleting !== undefined && (
        <Dialog
          title={`Delete rule ${deleting}`}
          action="Delete"
          isDangerous
          onClose={() => setDeleting(undefined)}
          onSubmit={() => void removeRule(deleting)}
        >
          <p>Messages that only this rule selects no longer come into {subscription}.</p>
        </Dialog>
      )}
      {isAdding && (
        <RuleDialog
          subscription={subscription}
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            void read();
          }}
        />
      )}
    </section>
  );
}

function ruleText({ sql, correlation, action }: ShownRule): string {
  const filter =
    correlation === undefined ? expressionOf(sql ?? '1=1') : JSON.stringify(correlation);
  return action === undefined ? filter : `${filter}\n${expressionOf(action)}`;
}

function expressionOf(sql: string | { readonly expression: string }): string {
  return typeof sql === 'string' ? sql : JSON.stringify(sql);
}
