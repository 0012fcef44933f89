import { useCallback, useEffect, useState } from 'preact/hooks';
import { type ClientPath, subQueueOf } from '../../client/entity-path.ts';
import { listSessions } from '../../client/message-calls.ts';
import { visible } from '../messages/visible-text.ts';
import { useConnection } from '../namespace/connection.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { numberText } from '../ui/format.ts';
import { useAttempt } from '../ui/use-attempt.ts';
import { ReceiveView } from './receive-view.tsx';

/** The most sessions that are listed. */
const SESSIONS_MAX = 2_000;

/** The sessions of a queue or subscription that have active messages; one of them can be accepted. */
export function SessionsView({
  entity,
  onChanged,
}: {
  readonly entity: string;
  readonly onChanged: () => void;
}) {
  const { caller } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [ids, setIds] = useState<readonly string[]>();
  const [chosen, setChosen] = useState<string>();
  const read = useCallback(
    () => attempt(async () => setIds(await firstSessions(subQueueOf(entity, 'main')))),
    [attempt, caller, entity],
  );
  useEffect(() => {
    void read();
  }, [read]);

  async function firstSessions(path: ClientPath): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const id of listSessions(caller, path)) {
      found.push(id);
      if (found.length >= SESSIONS_MAX) break;
    }
    return found;
  }

  return (
    <section class="sheet">
      {error !== undefined && <ErrorNotice error={error} />}
      <p>
        {ids === undefined
          ? 'Reading…'
          : `${numberText(ids.length)}${ids.length >= SESSIONS_MAX ? ' or more' : ''} sessions with active messages.`}{' '}
        <button type="button" class="quiet" disabled={isBusy} onClick={() => void read()}>
          Refresh
        </button>
      </p>
      <ul class="chips">
        {ids?.map((id) => (
          <li key={id}>
            <button
              type="button"
              class="chip"
              aria-pressed={chosen === id}
              onClick={() => setChosen(id)}
            >
              <bdi>{id === '' ? '(empty id)' : visible(id)}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {chosen !== undefined && (
        <ReceiveView key={chosen} entity={entity} sessionId={chosen} onChanged={onChanged} />
      )}
    </section>
  );
}
