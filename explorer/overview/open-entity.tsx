import { useState } from 'preact/hooks';
import { requireEntityPath } from '../../client/entity-path.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { hrefOf } from '../ui/route.ts';

/** Asks for the path of an entity, where the access may not list them. */
export function OpenEntity() {
  const [error, setError] = useState<unknown>();
  const open = (entity: string) => {
    try {
      requireEntityPath(entity);
      location.hash = hrefOf({ view: 'entity', entity, tab: '' });
    } catch (refusal) {
      setError(refusal);
    }
  };
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        open(String(new FormData(event.currentTarget).get('path') ?? '').trim());
      }}
    >
      <label>
        This access may not list all entities. Open one by its path:{' '}
        <input name="path" required autocomplete="off" spellcheck={false} placeholder="orders" />
      </label>
      <button type="submit">Open</button>
      {error !== undefined && <ErrorNotice error={error} />}
    </form>
  );
}
