import type { IncomingHttpHeaders } from 'node:http';
import type { Admission } from '../server/admission.ts';
import { bracketIPv6, isLoopback } from '../server/loopback.ts';
import { UsageError } from './startup-error.ts';

/** By which names clients and web pages may reach the local server. */
export interface LocalAdmissionOptions {
  /** The address that the server listens on, which is such a name itself. */
  readonly host: string;
  /** Host names by which clients reach it, for example its container's name. */
  readonly allowedHosts: readonly string[];
  /** Origins of web pages that may use it, for example `http://localhost:3000`. */
  readonly allowedOrigins: readonly string[];
}

const WILDCARDS = new Set(['0.0.0.0', '::']);
/** A host name, an IPv4 address, or an IPv6 address in brackets. */
const HOST_NAME = /^(?:[\w.-]+|\[[0-9a-f:.]+\])$/i;

/**
 * Refuses requests of web pages that a browser on this machine shows. A page can send requests to any address,
 * with its own `Origin`, and by DNS rebinding with its own `Host`. So both header fields must be local or
 * allowed. Throws UsageError for names that cannot be in these header fields.
 */
export function localAdmission({
  host,
  allowedHosts,
  allowedOrigins,
}: LocalAdmissionOptions): Admission {
  const hosts = new Set(allowedHosts.map(requireHostName));
  if (!WILDCARDS.has(host)) hosts.add(bracketIPv6(normalizeHost(host)));
  const origins = new Set(allowedOrigins.map(requireOrigin));
  return {
    refusal: (headers) => hostRefusal(headers, hosts) ?? originRefusal(headers, origins),
  };
}

function hostRefusal({ host }: IncomingHttpHeaders, allowed: ReadonlySet<string>) {
  if (host === undefined) return 'The request has no Host header, which is required.\n';
  const name = normalizeHost(host.replace(/:\d*$/, ''));
  if (isLoopback(name) || allowed.has(name)) return undefined;
  return `The local server does not serve the host '${name}'. If it is a name of this server, start it with --allowed-host ${name}.\n`;
}

function originRefusal({ origin, host }: IncomingHttpHeaders, allowed: ReadonlySet<string>) {
  if (origin === undefined || allowed.has(origin)) return undefined;
  if (origin === `http://${host}` || origin === `https://${host}`) return undefined;
  return `The local server does not serve web pages of the origin '${origin}'. If the page is yours, start the server with --allowed-origin ${origin}.\n`;
}

function requireHostName(name: string): string {
  const host = normalizeHost(name);
  if (HOST_NAME.test(host)) return host;
  throw new UsageError(`--allowed-host takes a host name without scheme and port, not '${name}'.`);
}

/** Makes host names comparable: they are case-insensitive, and a dot may end a fully qualified name. */
function normalizeHost(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function requireOrigin(origin: string): string {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return origin;
  throw new UsageError(
    `--allowed-origin takes an origin such as http://localhost:3000, not '${origin}'.`,
  );
}
