import { parseArgs } from 'node:util';
import { TIERS } from '../shared/app/variables.ts';
import type { Tier } from '../shared/domain/entities/tier.ts';
import { ENGINE_KINDS } from './engine/engine-recipes.ts';
import { StartupError } from './startup-error.ts';

/** The options of `npm start`. */
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
  readonly quiet: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm start -- [options]

A service bus namespace on this machine.

  --port N       port to listen on, 0 for any free one (5300)
  --host HOST    address to listen on (127.0.0.1); any other needs --key
  --data DIR     keep the data in DIR; default: in memory
  --engine NAME  ${ENGINE_KINDS.join(' or ')}; default: the first that can run on this machine
  --tier TIER    ${TIERS.map((tier) => tier.toLowerCase()).join(', ')}: sets the limits of entities (standard)
  --key KEY      key of RootManageSharedAccessKey (SAS_KEY_VALUE, which is public)
  --allowed-host NAME  also serve requests for this host, for example a container's name; repeatable
  --allowed-origin ORIGIN  also serve web pages of this origin, for example http://localhost:3000; repeatable
  --certificate FILE  keep the certificate for TLS clients in FILE, for example cert.pem, and its key in
                 cert-key.pem; the next start uses both again
  --quiet        print the endpoint only
  --help         print this text

Environment: DYNAMODB_ENDPOINT is the address of an engine to use and wait for, instead of starting one.
DYNABUS_ENGINE is the default of --engine, and DYNABUS_KEY of --key.
`;

/** The command line has invalid options. The server prints its message and the usage. */
export class UsageError extends Error {}

/** Reads the command line. Throws UsageError, and StartupError for a value that cannot be used. */
export function parseOptions(argv: readonly string[]): Options {
  const { port, host, data, engine, tier, certificate, quiet, help, ...more } = parse(argv);
  return {
    host,
    port: parsePort(port),
    dataDirectory: parseDirectory(data),
    engine,
    tier: parseTier(tier),
    key: parseKey(more.key ?? (process.env['DYNABUS_KEY'] || undefined)),
    allowedHosts: more['allowed-host'],
    allowedOrigins: more['allowed-origin'],
    certificate: parseFile(certificate),
    quiet,
    help,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        port: { type: 'string', default: '5300' },
        host: { type: 'string', default: '127.0.0.1' },
        data: { type: 'string' },
        engine: { type: 'string' },
        tier: { type: 'string', default: 'Standard' },
        key: { type: 'string' },
        'allowed-host': { type: 'string', multiple: true, default: [] },
        'allowed-origin': { type: 'string', multiple: true, default: [] },
        certificate: { type: 'string' },
        quiet: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new StartupError(`The port must be a number from 0 to 65535, not '${text}'.`);
}

function parseTier(text: string): Tier {
  const tier = TIERS.find((one) => one.toLowerCase() === text.toLowerCase());
  if (tier !== undefined) return tier;
  throw new StartupError(`There is no tier '${text}'; there are ${TIERS.join(', ')}.`);
}

/** Accepts keys that a connection string can hold. */
function parseKey(text: string | undefined): string | undefined {
  if (text === undefined || /^[!-:<-~]{1,256}$/.test(text)) return text;
  throw new StartupError(
    'The key must be up to 256 visible ASCII characters without spaces and semicolons.',
  );
}

function parseFile(path: string | undefined): string | undefined {
  if (path !== '') return path;
  throw new StartupError('--certificate takes a file, for instance cert.pem.');
}

function parseDirectory(path: string | undefined): string | undefined {
  if (path !== '') return path;
  throw new StartupError('--data takes a directory; without the option the data is in memory.');
}
