import type { TargetedSubmitEvent } from 'preact';
import { type Access, authorizer, readAccess } from './api/access.ts';
import { BrowserCaller } from './api/browser-caller.ts';
import { checkAccess } from './api/check-access.ts';
import type { About } from './namespace/connection.ts';
import { ErrorNotice } from './ui/error-notice.tsx';
import { useAttempt } from './ui/use-attempt.ts';

/** Asks for a connection string. It stays in the memory of this page, and is gone when the page is closed. */
export function ConnectForm({
  about,
  onAccess,
}: {
  readonly about: About;
  readonly onAccess: (access: Access) => void;
}) {
  const { attempt, error, isBusy } = useAttempt();
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const written = new FormData(event.currentTarget).get('access');
    void attempt(async () => {
      const { host, origin } = location;
      const access = readAccess(String(written), host);
      await checkAccess(new BrowserCaller(origin, authorizer(access, origin)), access);
      onAccess(access);
    });
  };
  if (about.access === 'iam') return <SignedOnly />;
  if (about.access === 'forwarded') return <OpenAgain />;
  return (
    <form class="connect" onSubmit={submit}>
      <h1>Connect to {location.host}</h1>
      <label>
        Connection string
        <textarea
          name="access"
          rows={4}
          required
          spellcheck={false}
          autocomplete="off"
          placeholder={`Endpoint=sb://${location.host}/;SharedAccessKeyName=…;SharedAccessKey=…`}
        />
      </label>
      <p class="hint">
        A rule with Manage shows everything. With Listen you can look at the messages of a queue,
        with Send you can send. The key stays in the memory of this page.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="submit" class="primary" disabled={isBusy}>
        Connect
      </button>
    </form>
  );
}

function SignedOnly() {
  return (
    <section class="connect">
      <h1>{location.host} takes signed requests only</h1>
      <p>
        This namespace uses IAM, and a browser cannot sign with your AWS credentials. The command
        line can:
      </p>
      <pre>npx dynabus explorer --to https://{location.host}</pre>
    </section>
  );
}

function OpenAgain() {
  return (
    <section class="connect">
      <h1>Open the printed address once more</h1>
      <p>
        This page has lost the secret that <code>dynabus explorer</code> has put into its address:
        it is kept in the memory of the page only.
      </p>
    </section>
  );
}
