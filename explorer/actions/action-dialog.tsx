import { useState } from 'preact/hooks';
import type { MessageTab } from '../messages/tabs.ts';
import { useConnection } from '../namespace/connection.ts';
import { Dialog } from '../ui/dialog.tsx';
import { counted } from '../ui/format.ts';
import { ACTION_WORDS } from './action-words.ts';
import type { ActionSubject, DialogAction } from './actions.ts';
import { ReasonFields } from './reason-fields.tsx';
import { canResend } from './resend.ts';
import { runAction } from './run-action.ts';

/** The properties of the dialog. */
export interface ActionDialogProps {
  readonly action: DialogAction;
  readonly subject: ActionSubject;
  readonly onClose: () => void;
}

/** Asks before an action, and begins it. */
export function ActionDialog({ action, subject, onClose }: ActionDialogProps) {
  const connection = useConnection();
  const [typed, setTyped] = useState('');
  const { entity, chosen } = subject;
  const begin = (fields: FormData) => {
    onClose();
    void runAction(action, { ...subject, ...connection, fields });
  };
  const count = counted(chosen.length, 'message', 'messages');
  const words = ACTION_WORDS[action];
  const isPurge = action === 'purge';
  const queue = QUEUES[subject.tab.subQueue](entity.name);
  const isInSessions = entity.requiresSession && subject.tab.subQueue === 'main';
  return (
    <Dialog
      title={isPurge ? `Purge ${queue}` : words.title}
      action={action === 'cancel' ? `Cancel ${count}` : words.action}
      dismissal={action === 'cancel' ? 'Keep' : 'Cancel'}
      isDangerous={words.isDangerous ?? false}
      isDisabled={isPurge && typed !== entity.name}
      onClose={onClose}
      onSubmit={begin}
    >
      <p>{words.says(subject, count)}</p>
      {(action === 'delete' || action === 'cancel') && <p class="hint">{undoText(subject)}</p>}
      {action.startsWith('resubmit') && (
        <label class="field">
          To (empty: back to {entity.name})
          <input name="to" autocomplete="off" spellcheck={false} placeholder={entity.name} />
        </label>
      )}
      {action === 'deadLetter' && <ReasonFields />}
      {isPurge && (
        <>
          <label class="field">
            Type {entity.name} to purge {queue}
            <input
              name="name"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
          <label class="check">
            <input type="checkbox" name="export" defaultChecked />
            Export its messages first
          </label>
          <p class="hint">
            This cannot be undone; dynabus import sends the messages of an export again.
            {isInSessions &&
              ' An export has the messages of sessions with active messages only, and a purge removes those of all sessions.'}
          </p>
        </>
      )}
    </Dialog>
  );
}

const QUEUES: Readonly<Record<MessageTab['subQueue'], (entity: string) => string>> = {
  main: (entity) => entity,
  deadLetter: (entity) => `the dead-letter queue of ${entity}`,
  transferDeadLetter: (entity) => `the transfer dead-letter queue of ${entity}`,
};

function undoText({ entity, tab }: ActionSubject): string {
  if (canResend({ entity, tab })) {
    const active = tab.state === 'Deferred' ? ', which are active' : '';
    return `As long as the page shows the result, they can be sent again, as new messages${active} and without what only AMQP clients set.`;
  }
  const why =
    entity.json['requiresDuplicateDetection'] === true
      ? `: ${entity.name} remembers their ids, and would drop them as duplicates`
      : '';
  return `This cannot be undone${why}.`;
}
