import type { Upstream } from '../connect/upstream.ts';
import type { Admission } from '../server/admission.ts';
import { isHealthCheck } from '../server/http/health-check.ts';
import type { Certificate } from '../server/protocol-detector.ts';
import type { WebApp } from '../server/server.ts';
import { rootRulesOf } from '../shared/auth/namespace-keys.ts';
import { DrainNotice } from './drain-notice.ts';
import { type RunningProxy, startProxy } from './start-proxy.ts';

/** Longer than work under way and its answers take. */
const STOP_MS_MAX = 20_000;

const NO_HTTP =
  'This proxy serves AMQP. Over HTTP it answers only /$health: administration clients and requests over HTTPS go to the endpoint of the deployment.\n';

/** What a proxy beside its clients serves, and where. */
export interface ClientProxyOptions {
  readonly upstream: Upstream;
  /** The key of RootManageSharedAccessKey by which clients reach it. */
  readonly key: string;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** The certificate for clients that use TLS; absent = they are refused. */
  readonly certificate?: Certificate | undefined;
}

/**
 * Starts a proxy beside its clients, on their machine or in their pod. It asks no table for its health: what all
 * proxies of a namespace cannot reach, a restart of one does not mend. Rejects with the system's error if it cannot
 * listen.
 */
export async function startClientProxy(options: ClientProxyOptions): Promise<RunningProxy> {
  const { upstream, key, host, port, certificate } = options;
  const drainNotice = new DrainNotice(0);
  return await startProxy({
    upstream,
    keys: rootRulesOf(key),
    host,
    port,
    app: drainNotice.watch(HEALTH_ONLY),
    certificate: certificate && (() => certificate),
    admission: NO_WEB_PAGES,
    drainNotice,
    stopMsMax: STOP_MS_MAX,
  });
}

/** A page in a browser on this machine may connect to any address; programs send no `Origin`. */
const NO_WEB_PAGES: Admission = {
  refusal: ({ origin }) =>
    origin === undefined ? undefined : 'This proxy serves programs, not web pages.\n',
};

const HEALTH_ONLY: WebApp = {
  fetch: (request) =>
    isHealthCheck(request)
      ? Response.json({ status: 'healthy', message: 'The proxy is healthy.' })
      : new Response(NO_HTTP, { status: 404 }),
};
