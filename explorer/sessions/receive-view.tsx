import { useState } from 'preact/hooks';
import type { Settlement } from '../../client/message-calls.ts';
import { ReasonFields, readReason } from '../actions/reason-fields.tsx';
import { MessageDetails } from '../messages/message-details.tsx';
import { useConnection } from '../namespace/connection.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { ReadOnlyHint } from '../ui/read-only-hint.tsx';
import { Time } from '../ui/time.tsx';
import { useObservable } from '../ui/use-observable.ts';
import { SessionState } from './session-state.tsx';
import { type Receiving, useReceiving } from './use-receiving.ts';

const OUTCOMES: readonly { readonly outcome: Settlement['outcome']; readonly title: string }[] = [
  { outcome: 'complete', title: 'Complete' },
  { outcome: 'abandon', title: 'Abandon' },
  { outcome: 'deadLetter', title: 'Dead-letter…' },
  { outcome: 'defer', title: 'Defer' },
];

/** Receives one message under a lock, and settles it; with `sessionId`, in that session, which it holds meanwhile. */
export function ReceiveView({
  entity,
  sessionId,
  onChanged,
}: {
  readonly entity: string;
  readonly sessionId?: string;
  /** Called when a message was settled. */
  readonly onChanged: () => void;
}) {
  const { isReadOnly } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const receiving = useReceiving(entity, sessionId, onChanged);
  const { message, held, isRefused, isBusy, said, error, receiveOne } = receiving;
  if (readOnly) {
    return <ReadOnlyHint to="receive messages" />;
  }
  return (
    <section class="sheet">
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={isBusy || (message !== undefined && !isRefused)}
          onClick={() => void receiveOne()}
        >
          {sessionId === undefined ? 'Receive one' : 'Accept the session and receive one'}
        </button>
        {message !== undefined && <Outcomes receiving={receiving} />}
        <span role="status">{said}</span>
        {message !== undefined && (
          <span class="hint">
            Locked until <Time at={Date.parse(String(message.system['LockedUntilUtc']))} />
          </span>
        )}
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {held !== undefined && <SessionState entity={entity} held={held} />}
      {message !== undefined && <MessageDetails message={message} />}
    </section>
  );
}

function Outcomes({ receiving: { message, isBusy, settleAs } }: { readonly receiving: Receiving }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      {OUTCOMES.map(({ outcome, title }) => (
        <button
          key={outcome}
          type="button"
          disabled={isBusy}
          onClick={() => (outcome === 'deadLetter' ? setAsking(true) : void settleAs({ outcome }))}
        >
          {title}
        </button>
      ))}
      {isAsking && (
        <Dialog
          title={`Dead-letter message ${message?.sequenceNumber}`}
          action="Dead-letter"
          onClose={() => setAsking(false)}
          onSubmit={(form) => {
            setAsking(false);
            void settleAs({ outcome: 'deadLetter', ...readReason(form) });
          }}
        >
          <ReasonFields />
        </Dialog>
      )}
    </>
  );
}
