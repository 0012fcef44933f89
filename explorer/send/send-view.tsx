import type { TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { subQueueOf } from '../../client/entity-path.ts';
import { useConnection } from '../namespace/connection.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { ReadOnlyHint } from '../ui/read-only-hint.tsx';
import { pageSettings } from '../ui/settings.ts';
import { readInstant, Time } from '../ui/time.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useObservable } from '../ui/use-observable.ts';
import { messageText } from './draft.ts';
import { DraftFields } from './draft-fields.tsx';
import { Unsent } from './unsent.ts';

/** Sends a message to a queue or topic, now or later. What is written stays when somebody looks elsewhere. */
export function SendView({
  entity,
  onChanged,
}: {
  readonly entity: string;
  readonly onChanged: () => void;
}) {
  const { caller, isReadOnly, unsent } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const { times } = useObservable(pageSettings);
  const { attempt, error, isBusy } = useAttempt();
  const [message] = useState(() => unsent.get(entity) ?? new Unsent());
  const { draft, scheduled, sent, dueAt } = useObservable(message.state);
  const change: Unsent['change'] = (part) => {
    message.change(part);
    unsent.set(entity, message);
  };
  if (readOnly) {
    return <ReadOnlyHint to="send messages" />;
  }
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    change({});
    const due = readInstant(scheduled, times);
    const isSent = await attempt(async () => {
      const text = messageText(draft, due);
      await message.once.send(caller, subQueueOf(entity, 'main'), text);
    });
    if (!isSent) return;
    message.change({ sent: message.state.value.sent + 1, dueAt: due });
    onChanged();
  };
  return (
    <form class="sheet" onSubmit={submit}>
      <DraftFields draft={draft} onChange={(written) => change({ draft: written })} />
      <label class="field">
        Not before, {times === 'utc' ? 'in UTC' : 'in local time'}; empty = now
        <input
          type="datetime-local"
          step="1"
          defaultValue={scheduled}
          onInput={(event) => change({ scheduled: event.currentTarget.value })}
        />
      </label>
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="buttons">
        <p role="status">
          {sent > 0 && `Sent: ${sent}.`}
          {sent > 0 && dueAt !== undefined && (
            <>
              {' '}
              The last one is due at <Time at={dueAt} />.
            </>
          )}
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          Send to {entity}
        </button>
      </div>
    </form>
  );
}
