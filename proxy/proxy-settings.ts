import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { isLoopback } from '../server/loopback.ts';
import type { Certificate } from '../server/protocol-detector.ts';
import { PUBLIC_ROOT_KEY } from '../shared/auth/root-rule.ts';

/** Where a proxy beside its clients listens, and what lets them in. */
export interface ProxySettings {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Undefined = none was chosen. */
  readonly key: string | undefined;
  /** Undefined = clients connect without TLS. */
  readonly certificate: Certificate | undefined;
}

/** The settings as they are written in options or variables. */
export interface WrittenProxySettings {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly key?: string | undefined;
  /** Files with PEM. */
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** Whether other machines may connect without TLS. */
  readonly insecureHost?: boolean | undefined;
}

/** What each setting is called where it is written. */
export type SettingNames = Readonly<Record<keyof WrittenProxySettings, string>>;

/** A setting cannot be used. Its message is a sentence that says what to write. */
export class ProxySettingsError extends Error {
  override readonly name = 'ProxySettingsError';
}

/** The port at which clients look that name none. */
const AMQP_PORT = '5672';

/** Reads the settings, and the files that they name. Throws ProxySettingsError. */
export function readProxySettings(
  written: WrittenProxySettings,
  names: SettingNames,
): ProxySettings {
  const { port = AMQP_PORT, insecureHost = false } = written;
  const host = withoutBrackets(written.host ?? '127.0.0.1');
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new ProxySettingsError(`${names.port} takes a number from 0 to 65535, not '${port}'.`);
  }
  const certificate = readCertificate(written, names);
  if (certificate === undefined && !insecureHost && !isLoopback(host)) {
    throw new ProxySettingsError(
      `Other machines can reach ${host}, and without TLS the messages pass in clear: give ${names.tlsCert} and ${names.tlsKey}, or ${names.insecureHost} where nobody else can listen to the network.`,
    );
  }
  return { host, port: Number(port), key: checkKey(written.key, names), certificate };
}

/** An IPv6 address as one listens on it: in URLs it stands in brackets. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** Accepts keys that a connection string can hold, and that are neither public nor soon guessed. */
function checkKey(key: string | undefined, names: SettingNames): string | undefined {
  if (key === PUBLIC_ROOT_KEY) {
    throw new ProxySettingsError(
      `The key ${key} is public, and web pages can connect to this machine, too: choose another in ${names.key}.`,
    );
  }
  if (key === undefined || /^[!-:<-~]{16,256}$/.test(key)) return key;
  throw new ProxySettingsError(
    `${names.key} takes a random key of 16 to 256 visible ASCII characters without spaces and semicolons.`,
  );
}

function readCertificate(
  { tlsCert, tlsKey }: WrittenProxySettings,
  names: SettingNames,
): Certificate | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new ProxySettingsError(`TLS needs both ${names.tlsCert} and ${names.tlsKey}.`);
  }
  const read = (name: string, file: string) => {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      throw new ProxySettingsError(
        `The file ${file} of ${name} cannot be read: ${messageOf(cause)}.`,
        { cause },
      );
    }
  };
  const certificate = read(names.tlsCert, tlsCert);
  const key = read(names.tlsKey, tlsKey);
  try {
    createSecureContext({ cert: certificate, key });
  } catch (cause) {
    throw new ProxySettingsError(
      `The files ${tlsCert} and ${tlsKey} are not a certificate and its private key as PEM: ${messageOf(cause)}.`,
      { cause },
    );
  }
  return { certificate, key };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && error.code === 'ENOENT' ? 'there is no such file' : error.message;
}
