import { isIPv6 } from 'node:net';

const LOOPBACK_V4 = /^127(?:\.\d{1,3}){3}$/;

/** Whether a name or address can only mean this machine. An IPv6 address may be in brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    LOOPBACK_V4.test(name) ||
    bracketIPv6(name) === '[::1]'
  );
}

/** An IPv6 address as it stands in a URL; anything else unchanged. */
export function bracketIPv6(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
