import { useState } from 'preact/hooks';
import { isEmptyFilter } from '../messages/filter.ts';
import { pathOf } from '../messages/tabs.ts';
import { useConnection } from '../namespace/connection.ts';
import type { Right, ShownEntity } from '../namespace/entity.ts';
import { EditDialog } from '../send/edit-dialog.tsx';
import { ReadOnlyHint } from '../ui/read-only-hint.tsx';
import { useObservable } from '../ui/use-observable.ts';
import { ActionDialog } from './action-dialog.tsx';
import { ACTIONS, type Action, type ActionId, type ActionSubject } from './actions.ts';

/** What can be done with the messages of a tab. In a read-only page one can only download. */
export function ActionBar({
  subject,
  onChanged,
}: {
  readonly subject: ActionSubject;
  readonly onChanged: () => void;
}) {
  const { isReadOnly, jobs } = useConnection();
  /** What was begun, and with what: the list behind the dialog may change. */
  const [open, setOpen] = useState<{ readonly id: ActionId; readonly subject: ActionSubject }>();
  const close = () => setOpen(undefined);
  const readOnly = useObservable(isReadOnly);
  const isBusy = useObservable(jobs.current)?.isRunning === true;
  const { entity, tab, chosen, filter } = subject;
  const offered = ACTIONS.filter(
    ({ tabs, changes, right }) =>
      tabs.includes(tab.id) && !(changes && readOnly) && mayDo(entity, right),
  );
  const buttons = offered.map(({ id, title, needs }) => {
    const isMissing = !isPossible(needs, chosen.length, isEmptyFilter(filter));
    return {
      id,
      title,
      isDisabled: isBusy || isMissing,
      why: isMissing ? FIRST[needs] : undefined,
    };
  });
  return (
    <div
      class="actions"
      role="toolbar"
      aria-label="What to do with messages"
      // A phone scrolls it, which the keyboard must be able to do, too.
      tabIndex={buttons.every(({ isDisabled }) => isDisabled) ? 0 : undefined}
    >
      {buttons.map(({ id, title, isDisabled, why }) => (
        <button
          key={id}
          type="button"
          disabled={isDisabled}
          title={why}
          onClick={() => setOpen({ id, subject })}
        >
          {title}
        </button>
      ))}
      {readOnly && <ReadOnlyHint to="change messages" />}
      {open !== undefined && <OpenDialog {...open} onClose={close} onChanged={onChanged} />}
    </div>
  );
}

function OpenDialog({
  id,
  subject,
  onClose,
  onChanged,
}: {
  readonly id: ActionId;
  readonly subject: ActionSubject;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}) {
  const { entity, tab, chosen } = subject;
  const [message] = chosen;
  if (!isAboutOne(id)) return <ActionDialog action={id} subject={subject} onClose={onClose} />;
  if (message === undefined) return null;
  const onSent = () => {
    onClose();
    onChanged();
  };
  const path = pathOf(entity.name, tab);
  return <EditDialog message={message} path={path} onClose={onClose} onSent={onSent} />;
}

/** Whether an action shows one message in a form. */
function isAboutOne(action: ActionId): action is 'edit' | 'copy' {
  return action === 'edit' || action === 'copy';
}

function mayDo({ right, canSend }: ShownEntity, needs: Right): boolean {
  return right === 'manage' || right === needs || (needs === 'send' && canSend);
}

/** What somebody does first, where it is not done. */
const FIRST: Readonly<Partial<Record<Action['needs'], string>>> = {
  selection: 'Tick messages first.',
  one: 'Tick one message first.',
  filter: 'Search with a filter first.',
};

function isPossible(needs: Action['needs'], chosen: number, isUnfiltered: boolean): boolean {
  switch (needs) {
    case 'selection':
      return chosen > 0;
    case 'one':
      return chosen === 1;
    case 'filter':
      return !isUnfiltered;
    case 'nothing':
      return true;
  }
}
