import type { IncomingHttpHeaders } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Admission } from '../server/admission.ts';
import { StartupError } from './startup-error.ts';

/** Whom the local server serves besides this machine. */
export interface AllowedPeers {
  /** The address it listens on. */
  readonly host: string;
  /** Names by which clients reach it, for instance of its container. */
  readonly allowedHosts: readonly string[];
  /** Web pages of other origins, for instance `http://localhost:3000`. */
  readonly allowedOrigins: readonly string[];
}

const WILDCARDS = new Set(['0.0.0.0', '::']);
const LOOPBACK_V4 = /^127(?:\.\d{1,3}){3}$/;
/** A name, or an address of IPv4, or one of IPv6 in brackets. */
const HOST_NAME = /^(?:[\w.-]+|\[[0-9a-f:.]+\])$/i;

/**
 * Keeps out the web pages that a browser on this machine shows. A page can send requests to any address,
 * by `Origin` of its own, and by DNS rebinding with a `Host` of its own: both have to be local. Throws
 * StartupError for names that cannot be in these header fields.
 */
export function localAdmission({ host, allowedHosts, allowedOrigins }: AllowedPeers): Admission {
  const hosts = new Set(allowedHosts.map(requireHostName));
  if (!WILDCARDS.has(host)) hosts.add(bracketed(comparable(host)));
  const origins = new Set(allowedOrigins.map(requireOrigin));
  return {
    refusal: (headers) => hostRefusal(headers, hosts) ?? originRefusal(headers, origins),
  };
}

/** Whether a name or address can only mean this machine. Those of IPv6 stand in brackets or not. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    LOOPBACK_V4.test(name) ||
    bracketed(name) === '[::1]'
  );
}

function hostRefusal({ host }: IncomingHttpHeaders, allowed: ReadonlySet<string>) {
  if (host === undefined) return 'The request names no host, which the local server needs.\n';
  const name = comparable(host.replace(/:\d*$/, ''));
  if (isLoopback(name) || allowed.has(name)) return undefined;
  return `The local server does not serve the host '${name}'. If it is a name of this server, start it with --allowed-host ${name}.\n`;
}

function originRefusal({ origin, host }: IncomingHttpHeaders, allowed: ReadonlySet<string>) {
  if (origin === undefined || allowed.has(origin)) return undefined;
  if (origin === `http://${host}` || origin === `https://${host}`) return undefined;
  return `The local server does not serve web pages of the origin '${origin}'. If the page is yours, start the server with --allowed-origin ${origin}.\n`;
}

function requireHostName(name: string): string {
  const host = comparable(name);
  if (HOST_NAME.test(host)) return host;
  throw new StartupError(
    `--allowed-host takes a host name without scheme and port, not '${name}'.`,
  );
}

/** Case does not count, nor does the dot after a name that is complete. */
function comparable(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function requireOrigin(origin: string): string {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return origin;
  throw new StartupError(
    `--allowed-origin takes an origin such as http://localhost:3000, not '${origin}'.`,
  );
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
