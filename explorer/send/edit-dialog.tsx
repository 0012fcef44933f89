import { useState } from 'preact/hooks';
import type { ClientPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import { useConnection } from '../namespace/connection.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { CopySender } from './copy-sender.ts';
import { draftOf } from './draft.ts';
import { DraftFields } from './draft-fields.tsx';

/** Asks how the copy of a message is changed, and sends it. `path` = the queue in which the message is. */
export function EditDialog({
  message,
  path,
  onClose,
  onSent,
}: {
  readonly message: ClientMessage;
  readonly path: ClientPath;
  readonly onClose: () => void;
  readonly onSent: () => void;
}) {
  const { caller, jobs } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [draft, setDraft] = useState(() => draftOf(message));
  const [sender] = useState(() => new CopySender(caller, path, message));
  const isDead = path.subQueue !== 'main';
  const name = `message ${message.sequenceNumber}`;
  const submit = async (form: FormData) => {
    const to = String(form.get('to') ?? '').trim() || sendable(path.entity);
    const isDone = await attempt(async () => {
      // As a job, its result is told to who has left the dialog, too.
      const failure = await jobs.run({ title: 'Sending', what: `of ${name}` }, async (progress) =>
        progress.sentence(await sender.send(to, draft)),
      );
      if (failure !== undefined) throw failure;
    });
    if (isDone) onSent();
  };
  return (
    <Dialog
      title={isDead ? `Edit and resubmit ${name}` : `Send a copy of ${name}`}
      action={sender.isSent ? 'Delete the original' : 'Send'}
      isBusy={isBusy}
      onClose={sender.isSent ? onSent : onClose}
      onSubmit={(form) => void submit(form)}
    >
      <p class="hint">
        The copy has what is shown here: annotations and other parts that only AMQP clients set are
        left out.
      </p>
      {isDead && (
        <p class="hint">
          The copy is sent first, then the dead letter is deleted. It stays if the copy goes to a
          topic, which may have no subscription that takes it.
        </p>
      )}
      <label class="field">
        Send it to
        <input
          name="to"
          autocomplete="off"
          spellcheck={false}
          defaultValue={sendable(path.entity)}
        />
      </label>
      <DraftFields draft={draft} onChange={setDraft} />
      {error !== undefined && <ErrorNotice error={error} />}
    </Dialog>
  );
}

/** The queue itself; of a subscription its topic, since nobody sends to a subscription. */
function sendable(entity: string): string {
  return entity.replace(/\/subscriptions\/[^/]+$/i, '');
}
