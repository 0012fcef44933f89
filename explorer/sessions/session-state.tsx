import type { TargetedSubmitEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { HeldSession } from '../../client/message-calls.ts';
import { showBody, textOf } from '../messages/body.ts';
import { useConnection } from '../namespace/connection.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useAttempt } from '../ui/use-attempt.ts';

/** The state of a session that is held, which can be replaced by a text. */
export function SessionState({
  entity,
  held,
}: {
  readonly entity: string;
  readonly held: HeldSession;
}) {
  const { caller } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [state, setState] = useState<Uint8Array>();
  const call = { path: `${entity}/sessions/$state`, query: { ...held } };
  useEffect(() => {
    void attempt(async () => {
      setState((await caller.call({ method: 'GET', ...call })).bytes);
    });
  }, [held]);
  const save = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const body = String(new FormData(event.currentTarget).get('state') ?? '');
    await attempt(async () => {
      await caller.call({ method: body === '' ? 'DELETE' : 'PUT', ...call, body });
      setState(new TextEncoder().encode(body));
    });
  };
  // What was not read cannot be replaced, since nobody knows what would be lost.
  if (state === undefined) return error === undefined ? null : <ErrorNotice error={error} />;
  const text = textOf(state);
  const shown = text === undefined ? showBody(state, true) : undefined;
  return (
    <form onSubmit={save}>
      {shown !== undefined && shown.kind !== 'empty' && (
        <>
          <p class="hint">The state of the session is no text:</p>
          <pre class="body">{shown.text}</pre>
        </>
      )}
      <label class="field">
        {text === undefined ? 'Replace it by the text' : 'State of the session'}
        <textarea
          name="state"
          rows={3}
          spellcheck={false}
          required={text === undefined}
          defaultValue={text ?? ''}
          key={text}
        />
      </label>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="submit" disabled={isBusy}>
        Save the state
      </button>
    </form>
  );
}
