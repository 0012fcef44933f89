import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { run } from '../../../local/command-line/program.ts';
import { commandLine } from '../../runner/built-server.ts';
import { sharedNamespaceCli } from '../cli.ts';

/** What a run of the command line printed, and its exit code. */
export interface Result {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a run gets beside its arguments. */
export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether input and outputs are a terminal. */
  readonly isTTY?: boolean;
  readonly signal?: AbortSignal;
  /** Called with each text of the output; throw to close it. */
  readonly onOutput?: (text: string) => void;
}

/** Runs the command line in this process. */
export async function runCommand(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Result> {
  const { stdin = '', env = {}, isTTY = false, signal, onOutput } = options;
  const texts = { stdout: '', stderr: '' };
  const output = (name: keyof typeof texts) => ({
    isTTY,
    write: (text: string, done: (error?: Error | null) => void) => {
      try {
        if (name === 'stdout') onOutput?.(text);
        texts[name] += text;
        done();
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
  const code = await run(args, {
    stdout: output('stdout'),
    stderr: output('stderr'),
    stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY }),
    env,
    interrupted: () => signal ?? new AbortController().signal,
  });
  return { code, ...texts };
}

/** Runs the command line as a process of its own. */
export async function runProcess(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Result> {
  const child = spawn(process.execPath, [...commandLine(), ...args], {
    env: { ...process.env, DYNABUS_CONNECTION_STRING: undefined, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  const [code, signal] = await once(child, 'close');
  return { code: code ?? signal, ...texts };
}

/** A namespace for all tests of a file, and the command line that is connected to it. */
export function sharedNamespace() {
  const start = sharedNamespaceCli({ args: ['--engine', 'dynoxide'] });
  let names = 0;
  const connected = async (args: readonly string[], options: RunOptions = {}): Promise<Result> =>
    runCommand(args, { ...options, env: { ...(await environment()), ...options.env } });
  const environment = async () => ({
    DYNABUS_CONNECTION_STRING: connectionString((await start()).url),
  });
  return {
    /** Runs a command on the namespace. */
    run: connected,
    /** Runs a command that must succeed. Returns its output. */
    succeed: async (args: readonly string[], options: RunOptions = {}): Promise<string> => {
      const { code, stdout, stderr } = await connected(args, options);
      assert.equal(code, 0, stderr);
      return stdout;
    },
    /** The variables by which a process finds the namespace. */
    environment,
    /** Creates a queue with settings of its own. Returns its name. */
    queue: async (settings = ''): Promise<string> => {
      const { url } = await start();
      const name = `queue-${++names}`;
      const answer = await fetch(`${url}/${name}`, {
        method: 'PUT',
        headers: { Authorization: TOKEN, 'Content-Type': 'application/atom+xml' },
        body: `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">${settings}</QueueDescription></content></entry>`,
      });
      assert.equal(answer.status, 201, await answer.text());
      return name;
    },
  };
}

/** A token of the public key for any local address, until 2036. */
const TOKEN =
  'SharedAccessSignature sr=http%3A%2F%2Flocalhost&sig=xLcSQxDaSH%2FK0Bmns3UMhKycpQj%2F7wLijoNNvWcUSLE%3D&se=2082758400&skn=RootManageSharedAccessKey';

/** The connection string of a local namespace with the public key. */
export function connectionString(url: string, key = 'SAS_KEY_VALUE'): string {
  return `Endpoint=sb://${new URL(url).host};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
}

/** The lines of an NDJSON text. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
