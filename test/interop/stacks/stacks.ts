import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a program of checks says in its last line. */
export interface Tally {
  readonly what: string;
  readonly ran: number;
  readonly failed: number;
  readonly skipped: number;
}

export type Result = Tally | { readonly notInstalled: string } | 'crashed';

/** A client of another language, and how its program of checks is run. */
export interface Stack {
  readonly name: string;
  /** @param variables what the program finds in its environment. @param folder what it may fill with what it builds. */
  run(variables: Variables, folder: string): Promise<Result>;
}

type Variables = Readonly<Record<string, string>>;

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PYTHON = process.env['PYTHON'] ?? 'python3';
/** How a script says that what it tries is not there. */
const NOT_INSTALLED = 77;
/** What `dotnet restore` says of a package, or a version of it, that no source has. */
const MISSING_PACKAGE = /error (NU110[12]: .*?)(?: \[|$)/m;

/** All of them, in the order in which they run. */
export const STACKS: readonly Stack[] = [
  python('qpid-proton', 'proton_smoke.py'),
  python('azure-servicebus for Python: links', 'azure_links.py'),
  python('azure-servicebus for Python: operations', 'azure_operations.py'),
  python('azure-servicebus for Python: administration', 'azure_administration.py'),
  ...['plain', 'tls', 'websocket', 'proxy'].map((transport) =>
    dotnet(`Azure.Messaging.ServiceBus for .NET: ${transport}`, 'sdk/Sdk', {
      DYNABUS_TRANSPORT: transport,
    }),
  ),
  dotnet('MassTransit for .NET', 'masstransit/MassTransitChecks'),
  dotnet('Wolverine for .NET', 'wolverine/WolverineChecks'),
  dotnet('Rebus for .NET', 'rebus/RebusChecks'),
];

function python(name: string, script: string): Stack {
  const run = async (variables: Variables): Promise<Result> => {
    const { code, output } = await runProgram(PYTHON, [join(HERE, 'python', script)], {
      ...variables,
      PYTHONDONTWRITEBYTECODE: '1',
    });
    if (code === 'not there') return { notInstalled: `there is no ${PYTHON}` };
    if (code === NOT_INSTALLED) return { notInstalled: 'the package is not installed' };
    return tallyIn(output);
  };
  return { name, run };
}

/**
 * A project in the folder `dotnet`, built where the source stays as it is.
 * @param path its folder there and its name, such as `sdk/Sdk`
 */
function dotnet(name: string, path: string, more: Variables = {}): Stack {
  const run = async (variables: Variables, folder: string): Promise<Result> => {
    const artifacts = join(folder, 'dotnet');
    const args = ['--artifacts-path', artifacts, '--verbosity', 'quiet', '--nologo'];
    const source = join(HERE, 'dotnet', dirname(path));
    const project = basename(path);
    const quiet = { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' };
    const program = join(artifacts, 'bin', project, 'debug', `${project}.dll`);
    if (!existsSync(program)) {
      const { code, output } = await runProgram('dotnet', ['build', source, ...args], quiet);
      if (code === 'not there') return { notInstalled: 'there is no dotnet' };
      const missing = MISSING_PACKAGE.exec(output)?.[1];
      if (missing !== undefined) return { notInstalled: missing };
      if (code !== 0) console.error(output);
      if (code !== 0) return 'crashed';
    }
    const { output } = await runProgram('dotnet', [program], { ...quiet, ...variables, ...more });
    return tallyIn(output);
  };
  return { name, run };
}

/** Runs a program to its end. What it writes to its error output is shown as it comes. */
async function runProgram(command: string, args: readonly string[], variables: Variables) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...variables },
  });
  const isThere = once(child, 'spawn').then(
    () => true,
    () => false,
  );
  const output = textOf(child.stdout);
  if (!(await isThere)) return { code: 'not there' as const, output: '' };
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output() };
}

function textOf(stream: ChildProcess['stdout']): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** A program that did not come to its last line has crashed. */
function tallyIn(output: string): Result {
  const last = output.trim().split('\n').at(-1) ?? '';
  return last.startsWith('{') ? (JSON.parse(last) as Tally) : 'crashed';
}
