import { parseConnectionString } from '../../shared/auth/connection-string.ts';

/** How the page proves its rights. It is kept in the memory of the page, and nowhere else. */
export type Access =
  | {
      readonly kind: 'key';
      readonly keyName: string;
      readonly key: string;
      readonly entityPath?: string | undefined;
    }
  | { readonly kind: 'token'; readonly authorization: string };

/** What somebody wrote is no access to this namespace. Its message is a sentence that says what to do. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
}

/** Reads a connection string, or a whole token. `host` = of this page. Throws AccessError. */
export function readAccess(text: string, host: string): Access {
  const written = text.trim();
  if (/^SharedAccessSignature\s/i.test(written)) return { kind: 'token', authorization: written };
  const { keyName, key, entityPath, host: named } = parsed(written);
  if (withoutPort(named) !== withoutPort(host)) {
    throw new AccessError(
      `This connection string is for ${named}, and this page reaches ${host} only. Open the explorer of that namespace, or set DYNABUS_CONNECTION_STRING and run: npx dynabus explorer`,
    );
  }
  return { kind: 'key', keyName, key, entityPath };
}

function parsed(text: string) {
  try {
    return parseConnectionString(text);
  } catch (error) {
    throw new AccessError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** All loopback names are one: a local namespace prints `localhost`, and a browser may show 127.0.0.1. */
function withoutPort(host: string): string {
  const name = host.toLowerCase().replace(/:\d+$/, '');
  return /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(name) ? 'localhost' : name;
}

/** Makes the `Authorization` of requests. */
export type Authorize = (now: number) => Promise<string>;

const TOKEN_MS = 60 * 60_000;
const TOKEN_SPARE_MS = 10 * 60_000;

/** Authorizes requests to an origin, such as `https://bus.example`. `now` = epoch ms, by the machine's clock. */
export function authorizer(access: Access, origin: string): Authorize {
  if (access.kind === 'token') return async () => access.authorization;
  const { entityPath } = access;
  const audience = entityPath === undefined ? origin : `${origin}/${entityPath}`;
  let token: { readonly text: Promise<string>; readonly expiresAt: number } | undefined;
  return (now) => {
    if (token === undefined || token.expiresAt - TOKEN_SPARE_MS < now) {
      const expiresAt = now + TOKEN_MS;
      token = { expiresAt, text: createToken(access, audience, expiresAt) };
    }
    return token.text;
  };
}

async function createToken(
  { keyName, key }: Extract<Access, { kind: 'key' }>,
  audience: string,
  expiresAt: number,
): Promise<string> {
  if (globalThis.crypto?.subtle === undefined) throw new AccessError(CANNOT_SIGN);
  const sr = encodeURIComponent(audience);
  const se = String(Math.floor(expiresAt / 1000));
  const utf8 = new TextEncoder();
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', utf8.encode(key), hmac, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', imported, utf8.encode(`${sr}\n${se}`));
  const sig = encodeURIComponent(btoa(String.fromCharCode(...new Uint8Array(signature))));
  return `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}&skn=${encodeURIComponent(keyName)}`;
}

const CANNOT_SIGN =
  'A browser signs only on https or on localhost. Open the page there, or run: npx dynabus explorer';
