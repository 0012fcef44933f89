import { openDirect } from '../connect/direct/open-direct.ts';
import { DIRECT_VARIABLE, readDirectOptions } from '../connect/direct/read-direct-options.ts';
import { openHttps } from '../connect/https/open-https.ts';
import { CONNECTION_VARIABLE, httpsOptionsOf } from '../connect/https/read-https-options.ts';
import { startClientProxy } from '../proxy/client-proxy.ts';
import { ProxySettingsError, readProxySettings } from '../proxy/proxy-settings.ts';
import type { RunningProxy } from '../proxy/start-proxy.ts';
import type { Environment } from '../shared/app/settings.ts';

/** The variables of a sidecar, besides `DIRECT_VARIABLE` and `CONNECTION_VARIABLE`. */
const NAMES = {
  host: 'DYNABUS_PROXY_HOST',
  port: 'DYNABUS_PROXY_PORT',
  key: 'DYNABUS_PROXY_KEY',
  tlsCert: 'DYNABUS_PROXY_TLS_CERT',
  tlsKey: 'DYNABUS_PROXY_TLS_KEY',
  insecureHost: 'DYNABUS_PROXY_INSECURE_HOST',
} as const;

/** Whether the environment makes a container a sidecar of its clients, not a task behind a load balancer. */
export function isSidecar(environment: Environment): boolean {
  return Boolean(environment[DIRECT_VARIABLE] || environment[CONNECTION_VARIABLE]);
}

/**
 * Serves a namespace over AMQP to the clients in the same pod or task: by its tables with the AWS credentials of the
 * container, or over HTTPS. Rejects if a variable cannot be used, or the namespace does not answer.
 */
export async function startSidecar(environment: Environment): Promise<RunningProxy> {
  const written = (name: keyof typeof NAMES) => environment[NAMES[name]] || undefined;
  const { key, ...place } = readProxySettings(
    {
      host: written('host'),
      port: written('port'),
      key: written('key'),
      tlsCert: written('tlsCert'),
      tlsKey: written('tlsKey'),
      insecureHost: flag(environment, NAMES.insecureHost),
    },
    NAMES,
  );
  if (key === undefined) {
    throw new ProxySettingsError(
      `The variable ${NAMES.key} is not set: choose a random key, and give it to the proxy and to its clients.`,
    );
  }
  const direct = environment[DIRECT_VARIABLE];
  const upstream = direct
    ? openDirect(readDirectOptions(direct, `The variable ${DIRECT_VARIABLE}`))
    : openHttps(httpsOptionsOf(environment[CONNECTION_VARIABLE] ?? ''));
  await upstream.reach();
  return await startClientProxy({ ...place, upstream, key });
}

function flag(environment: Environment, name: string): boolean {
  const written = environment[name] || 'false';
  if (written === 'true' || written === 'false') return written === 'true';
  throw new ProxySettingsError(`${name} takes true or false, not '${written}'.`);
}
