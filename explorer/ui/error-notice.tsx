import { RefusalError } from '../../client/client-errors.ts';
import { visible } from '../messages/visible-text.ts';

/** Says what went wrong, with the tracking id that finds it in the log of the service. */
export function ErrorNotice({ error }: { readonly error: unknown }) {
  return (
    <p class="notice bad" role="alert">
      {sentenceOf(error)}
      {error instanceof RefusalError && error.trackingId !== undefined && (
        <>
          {' '}
          <small>
            Tracking id <code>{error.trackingId}</code>
          </small>
        </>
      )}
    </p>
  );
}

/** What went wrong, as a sentence. It may quote what a link or a message has. */
export function sentenceOf(error: unknown): string {
  return visible(error instanceof Error ? error.message : String(error));
}
