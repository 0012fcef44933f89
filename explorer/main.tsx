import { render } from 'preact';
import { App } from './app.tsx';
import type { About } from './namespace/connection.ts';
import { ErrorNotice } from './ui/error-notice.tsx';
import { secretInAddress } from './ui/route.ts';
import './ui/settings.ts';

await start();

async function start(): Promise<void> {
  const root = document.getElementById('app');
  if (root === null) throw new Error('The page has no element for the app.');
  try {
    const about = await readAbout();
    root.replaceChildren();
    render(<App about={about} />, root);
  } catch (error) {
    root.replaceChildren();
    render(<NotStarted error={error} />, root);
  }
}

async function readAbout(): Promise<About> {
  const secret = secretInAddress();
  const response = await fetch('/$explorer/about.json', {
    cache: 'no-store',
    // 'dynabus explorer' tells only who has it which namespace it shows.
    headers: secret === undefined ? {} : { Authorization: `Bearer ${secret}` },
    credentials: 'omit',
  }).catch((cause) => {
    throw new Error('The server does not answer.', { cause });
  });
  if (!response.ok) throw new Error(`The server answers with status ${response.status}.`);
  return await response.json();
}

function NotStarted({ error }: { readonly error: unknown }) {
  return (
    <main>
      <section class="connect">
        <h1>The explorer cannot start</h1>
        <ErrorNotice error={error} />
        <button type="button" class="primary" onClick={() => location.reload()}>
          Try again
        </button>
      </section>
    </main>
  );
}
