import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** The properties of a dialog with a form. */
export interface DialogProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly action: string;
  /** What the button says that leaves everything as it is. */
  readonly dismissal?: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  /** Something is under way: the dialog stays until it has ended. */
  readonly isBusy?: boolean;
  readonly children?: ComponentChildren;
  readonly onClose: () => void;
  /** Called with the fields of the form. The dialog is closed by who shows it. */
  readonly onSubmit: (fields: FormData) => void;
}

/** A question in front of the page. Escape and the first button leave everything as it is. */
export function Dialog(props: DialogProps) {
  const { title, action, dismissal = 'Cancel', isDangerous = false, children } = props;
  const { isDisabled = false, isBusy = false, onClose, onSubmit } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit(new FormData(event.currentTarget));
  };
  return (
    <dialog
      ref={dialog}
      closedby={isBusy ? 'none' : 'closerequest'}
      onCancel={(event) => {
        // For browsers that do not know `closedby`. Others would ask at the first Escape only, and close at the second.
        if (isBusy) event.preventDefault();
      }}
      onClose={onClose}
      aria-labelledby={heading}
    >
      <form onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        {children}
        <div class="buttons">
          <button type="button" disabled={isBusy} onClick={onClose}>
            {dismissal}
          </button>
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={isDisabled || isBusy}
          >
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
