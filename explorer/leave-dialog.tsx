import { useConnection } from './namespace/connection.ts';
import { Dialog } from './ui/dialog.tsx';
import { useObservable } from './ui/use-observable.ts';

/** Asks before somebody leaves a namespace while work runs, or while the page offers what only it can do. */
export function LeaveDialog({
  onStay,
  onLeave,
}: {
  readonly onStay: () => void;
  readonly onLeave: () => void;
}) {
  const { jobs } = useConnection();
  const isRunning = useObservable(jobs.current)?.isRunning === true;
  const { offers } = jobs;
  return (
    <Dialog
      title="Leave this namespace"
      action={offers.length > 0 ? 'Leave and lose what is offered' : 'Leave'}
      dismissal="Stay"
      isDangerous
      onClose={onStay}
      onSubmit={onLeave}
    >
      {isRunning && <p>Work is going on. It ends after the call that is under way.</p>}
      {offers.length > 0 && (
        <p>
          Only this page can still do what it offers at the bottom:{' '}
          {offers.map((title) => `“${title}”`).join(', ')}.
        </p>
      )}
    </Dialog>
  );
}
