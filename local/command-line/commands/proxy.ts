import { randomBytes } from 'node:crypto';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { logLine } from '../../../proxy/log-line.ts';
import { type ProxySettings, readProxySettings } from '../../../proxy/proxy-settings.ts';
import type { RunningProxy } from '../../../proxy/start-proxy.ts';
import { bracketIPv6 } from '../../../server/loopback.ts';
import { formatConnectionString } from '../../../shared/auth/connection-string.ts';
import { ROOT_KEY_NAME } from '../../../shared/auth/root-rule.ts';
import { fileFaultCode } from '../../file-faults.ts';
import {
  type OpenUpstream,
  openUpstream,
  type WrittenUpstream,
} from '../../proxy/open-upstream.ts';
import { proxyText } from '../../proxy/proxy-text.ts';
import { localNameOf, refusedListening, requireFreePort } from '../../server.ts';
import { StartupError } from '../../startup-error.ts';
import { StopRequests } from '../../stop-requests.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type Io } from '../io.ts';

/** The variable with the key; an option would be visible in the list of processes. */
const KEY_VARIABLE = 'DYNABUS_PROXY_KEY';

const NAMES = {
  host: '--host',
  port: '--port',
  key: KEY_VARIABLE,
  tlsCert: '--tls-cert',
  tlsKey: '--tls-key',
  insecureHost: '--insecure-host',
} as const;

/** The options of `dynabus proxy`, as written. */
export interface ProxyCommandOptions extends WrittenUpstream {
  readonly host?: string;
  readonly port?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly insecureHost?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Serves messaging clients until a signal arrives, or npm, which has started it, ends. */
export const runProxy: RunCommand<ProxyCommandOptions> = async (io, _, options) => {
  const key = io.env[KEY_VARIABLE] || undefined;
  const settings = readProxySettings({ ...options, key }, NAMES);
  const stopping = new StopRequests();
  await requireFreePort(settings.host, settings.port);
  const open = await openUpstream(options, io.env);
  const own = { ...settings, key: key ?? randomBytes(32).toString('base64url') };
  const proxy = await start(open, own);
  const say = outputOf(io, options);
  // A program that starts this one waits for the text printed next, and may send a signal right after it.
  const signalled = stopping.first();
  say.started({ settings: own, isKeyShown: key === undefined, open, port: proxy.port });
  const reason = await signalled;
  say.event('Draining', { reason });
  await proxy.stop().catch((cause: Error) => {
    throw new StartupError(cause.message, { cause });
  });
  say.event('Stopped');
  return EXIT.done;
};

/** Settings with a key. */
type OwnSettings = ProxySettings & { readonly key: string };

async function start({ upstream }: OpenUpstream, settings: OwnSettings): Promise<RunningProxy> {
  const { host, port } = settings;
  try {
    return await startClientProxy({ ...settings, upstream });
  } catch (error) {
    await upstream.close();
    throw fileFaultCode(error) === undefined ? error : refusedListening(error as Error, host, port);
  }
}

/** What is known once the proxy listens. */
interface Started {
  readonly settings: OwnSettings;
  /** Whether the key was made here, so that it must be printed. */
  readonly isKeyShown: boolean;
  readonly open: OpenUpstream;
  readonly port: number;
}

/** What the command prints. */
interface Says {
  readonly started: (facts: Started) => void;
  readonly event: (message: string, details?: object) => void;
}

/** A text for people on a terminal, otherwise the log: one line of JSON an event. */
function outputOf({ stdout }: Io, { json = false, quiet = false }: ProxyCommandOptions): Says {
  const print = (text: string) => void stdout.write(text, () => {});
  const log = (message: string, details?: object) =>
    print(logLine({ level: 'info', message, ...details }));
  if (quiet && !json) {
    return {
      started: (facts) => print(`${connectionStringOf(facts)}\n`),
      event: () => {},
    };
  }
  if (json || stdout.isTTY !== true) {
    return {
      started: (facts) => {
        const { port, open, settings } = facts;
        const { namespace, way } = open;
        const connectionString = connectionStringOf(facts);
        const { host } = settings;
        log('Started', { connectionString, host, port, namespace, way, pid: process.pid });
      },
      event: log,
    };
  }
  return {
    started: (facts) => {
      const { settings, open, port } = facts;
      print(
        proxyText({
          ...open,
          address: `${bracketIPv6(settings.host)}:${port}`,
          isTls: settings.certificate !== undefined,
          connectionString: connectionStringOf(facts),
        }),
      );
    },
    event: (message) => print(`${message}\n`),
  };
}

/** For clients on this machine. A key that the user has chosen is not printed. */
function connectionStringOf({ settings, isKeyShown, port }: Started): string {
  const { host, key, certificate } = settings;
  return formatConnectionString({
    host: `${localNameOf(host)}:${port}`,
    keyName: ROOT_KEY_NAME,
    key: isKeyShown ? key : `$${KEY_VARIABLE}`,
    isLocal: certificate === undefined,
  });
}
