import { useConnection } from '../namespace/connection.ts';

/** Says that nothing can be changed, and what to do about it. `to` = what somebody wants: `send messages`. */
export function ReadOnlyHint({ to }: { readonly to: string }) {
  const { about } = useConnection();
  return (
    <p class="hint">
      {about.isReadOnly === true
        ? 'Read-only: dynabus explorer was started with --read-only.'
        : `Read-only: switch “Allow changes” on to ${to}.`}
    </p>
  );
}
