import { randomBytes } from 'node:crypto';
import { placeOf } from '../../../connect/https/calls/place.ts';
import { CONNECTION_VARIABLE, httpsOptionsOf } from '../../../connect/https/read-https-options.ts';
import { EXPLORER_PATH } from '../../../lambdas/http/explorer/routes.ts';
import { processResources } from '../../../shared/app/namespace-settings.ts';
import { parseConnectionString } from '../../../shared/auth/connection-string.ts';
import { explorerForwarder } from '../../explorer/forwarder.ts';
import { localAdmission } from '../../local-admission.ts';
import { readPort } from '../../options.ts';
import { startServer } from '../../server.ts';
import { UsageError } from '../../startup-error.ts';
import { StopRequests } from '../../stop-requests.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, writeTo } from '../io.ts';

/** Only this machine reaches the page, because it has the rights of who has started it. */
const HOST = '127.0.0.1';

/** The options of `dynabus explorer`, as written. */
export interface ExplorerOptions {
  readonly to?: string;
  readonly region?: string;
  readonly port?: string;
  readonly readOnly?: boolean;
  readonly quiet?: boolean;
}

/** Serves the explorer of a namespace until a signal arrives, or npm, which has started it, ends. */
export const runExplorer: RunCommand<ExplorerOptions> = async (io, _, options) => {
  const text = options.to ?? (io.env[CONNECTION_VARIABLE] || undefined);
  if (text === undefined) {
    throw new UsageError(
      `No namespace is given: pass its connection string, or the address of a deployment with IAM, with --to, or set ${CONNECTION_VARIABLE}.`,
    );
  }
  const written = httpsOptionsOf(text, options.region);
  const remote = placeOf(written);
  const isLocal =
    'connectionString' in written && parseConnectionString(written.connectionString).isLocal;
  const stopping = new StopRequests();
  const secret = randomBytes(24).toString('base64url');
  const resources = processResources();
  const server = await startServer({
    app: explorerForwarder({
      remote,
      secret,
      resources,
      about: {
        place: isLocal ? 'local' : 'deployed',
        access: 'forwarded',
        namespace: new URL(remote.address).host,
        isReadOnly: options.readOnly ?? false,
      },
    }),
    memory: resources.memory,
    host: HOST,
    port: options.port === undefined ? 0 : readPort(options.port),
    admission: localAdmission({ host: HOST, allowedHosts: [], allowedOrigins: [] }),
  });
  // Not by the name localhost: another user of this machine may listen on the same port of ::1.
  const address = `http://${HOST}:${server.port}${EXPLORER_PATH}#access=${secret}`;
  const signalled = stopping.first();
  await writeTo(
    io.stdout,
    options.quiet
      ? `${address}\n`
      : `The explorer of ${remote.address}; whoever opens this address has your rights there:\n\n${address}\n\nCtrl-C ends it.\n`,
  );
  await signalled;
  await server.close();
  return EXIT.done;
};
