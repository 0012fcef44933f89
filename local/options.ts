import { TIERS } from '../shared/app/variables.ts';
import type { Tier } from '../shared/domain/entities/tier.ts';
import { listed } from '../shared/domain/fault-words.ts';
import { UsageError } from './startup-error.ts';

/** The options of `dynabus start`. */
export interface Options {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Keeps the data; undefined = in memory. */
  readonly dataDirectory: string | undefined;
  /** An engine kind, not checked yet; undefined = the default of `startEngine`. */
  readonly engine: string | undefined;
  readonly tier: Tier;
  /** The key of the rule with all rights; undefined = the public key of the vendor's emulator. */
  readonly key: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The file of the certificate for TLS clients; its private key is in a file beside it. */
  readonly certificate: string | undefined;
  /** The file with the entities to create at the start. */
  readonly config: string | undefined;
  /** The file that says how to reach the namespace while it runs. */
  readonly readyFile: string | undefined;
  /** Whether receivers hear of messages that other servers on the same engine store. */
  readonly stream: boolean;
  readonly quiet: boolean;
  /** Whether the addresses are printed as JSON, and nothing else. */
  readonly json: boolean;
}

/** The options as they are written on the command line. */
export interface WrittenOptions {
  readonly port?: string;
  readonly host?: string;
  readonly data?: string;
  readonly engine?: string;
  readonly tier?: string;
  readonly key?: string;
  readonly allowedHost?: readonly string[];
  readonly allowedOrigin?: readonly string[];
  readonly certificate?: string;
  readonly config?: string;
  readonly readyFile?: string;
  readonly stream?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Reads the options. Throws UsageError for a value that cannot be used. */
export function readOptions(written: WrittenOptions, env: NodeJS.ProcessEnv): Options {
  const { json = false } = written;
  return {
    host: written.host ?? '127.0.0.1',
    port: readPort(written.port ?? '5300'),
    dataDirectory: readDirectory(written.data),
    engine: written.engine,
    tier: readTier(written.tier ?? 'Standard'),
    key: readKey(written.key ?? (env['DYNABUS_KEY'] || undefined)),
    allowedHosts: written.allowedHost ?? [],
    allowedOrigins: written.allowedOrigin ?? [],
    certificate: readFileName(written.certificate, '--certificate', 'cert.pem'),
    config: readFileName(written.config, '--config', 'Config.json'),
    readyFile: readFileName(written.readyFile, '--ready-file', 'ready.json'),
    stream: written.stream ?? false,
    quiet: json || (written.quiet ?? false),
    json,
  };
}

/** Reads the number of a port; 0 = any free one. Throws UsageError. */
export function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`The port must be a number from 0 to 65535, not '${text}'.`);
}

function readTier(text: string): Tier {
  const tier = TIERS.find((one) => one.toLowerCase() === text.toLowerCase());
  if (tier !== undefined) return tier;
  const names = TIERS.map((one) => one.toLowerCase());
  throw new UsageError(`There is no tier '${text}'; there are ${listed(names, 'and')}.`);
}

/** Accepts keys that a connection string can hold. */
function readKey(text: string | undefined): string | undefined {
  if (text === undefined || /^[!-:<-~]{1,256}$/.test(text)) return text;
  throw new UsageError(
    'The key must be up to 256 visible ASCII characters without spaces and semicolons.',
  );
}

function readFileName(
  path: string | undefined,
  option: string,
  example: string,
): string | undefined {
  if (path !== '') return path;
  throw new UsageError(`${option} takes a file, for instance ${example}.`);
}

function readDirectory(path: string | undefined): string | undefined {
  if (path !== '') return path;
  throw new UsageError('--data takes a directory; without the option the data is in memory.');
}
