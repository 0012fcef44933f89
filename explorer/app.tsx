import { useState } from 'preact/hooks';
import { JobPanel } from './actions/job-panel.tsx';
import type { Access } from './api/access.ts';
import { ConnectForm } from './connect-form.tsx';
import { EntityPage } from './entity/entity-page.tsx';
import { Header } from './header.tsx';
import { LeaveDialog } from './leave-dialog.tsx';
import {
  type About,
  type Connection,
  ConnectionProvider,
  openConnection,
} from './namespace/connection.ts';
import { Overview } from './overview/overview.tsx';
import { ErrorBoundary } from './ui/error-boundary.tsx';
import { currentRoute, hrefOf, secretInAddress } from './ui/route.ts';
import { useObservable } from './ui/use-observable.ts';

/** The whole page. */
export function App({ about }: { readonly about: About }) {
  const [connection, setConnection] = useState(() => firstConnection(about));
  /** What follows when somebody has agreed to leave the namespace. */
  const [leaving, setLeaving] = useState<() => void>();
  const connect = (access: Access) => {
    setConnection(openConnection(about, access));
    const entity = access.kind === 'key' ? access.entityPath : undefined;
    if (entity !== undefined) location.hash = hrefOf({ view: 'entity', entity, tab: '' });
  };
  if (connection === undefined) {
    return (
      <main>
        <ConnectForm about={about} onAccess={connect} />
      </main>
    );
  }
  const leave = (next: () => void) => {
    const { list, jobs } = connection;
    const left = () => {
      // Nobody would see any more what goes on.
      list.pause();
      jobs.stop();
      setLeaving(undefined);
      next();
    };
    if (jobs.current.value?.isRunning || jobs.offers.length > 0) setLeaving(() => left);
    else left();
  };
  const disconnect = () => leave(() => setConnection(undefined));
  const choose = (namespace: string) => {
    const { access } = connection;
    if (access.kind !== 'key') return;
    const keyName = `${access.keyName.replace(/@.*$/, '')}@${namespace}`;
    leave(() => {
      setConnection(openConnection(about, { ...access, keyName }));
      location.hash = '#/';
    });
  };
  return (
    <ConnectionProvider value={connection}>
      <Header onDisconnect={disconnect} onNamespace={choose} />
      <CurrentView key={connection.access.kind === 'key' ? connection.access.keyName : ''} />
      <JobPanel />
      {leaving !== undefined && (
        <LeaveDialog onStay={() => setLeaving(undefined)} onLeave={leaving} />
      )}
    </ConnectionProvider>
  );
}

/** The connection that needs nobody to write an access: with a public key, or with the secret in the address. */
function firstConnection(about: About): Connection | undefined {
  const { publicKey: key } = about;
  if (key !== undefined) {
    return openConnection(about, { kind: 'key', keyName: 'RootManageSharedAccessKey', key });
  }
  const secret = secretInAddress();
  if (about.access !== 'forwarded' || secret === undefined) return undefined;
  return openConnection(about, { kind: 'token', authorization: `Bearer ${secret}` });
}

function CurrentView() {
  const route = useObservable(currentRoute);
  return (
    <main>
      {route.view === 'overview' ? (
        <Overview />
      ) : (
        <ErrorBoundary key={route.entity}>
          <EntityPage entity={route.entity} tab={route.tab} />
        </ErrorBoundary>
      )}
    </main>
  );
}
