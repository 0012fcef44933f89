import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MINUTES_MAX, type Result, resultOfBuild, resultOfChecks } from './results.ts';
import { runProgram } from './run-program.ts';

/** A client of another language, and how its program of checks is run. */
export interface Stack {
  readonly name: string;
  run(conditions: Conditions): Promise<Result>;
}

/** What the programs of a run have in common. */
export interface Conditions {
  /** What they find in their environment. */
  readonly variables: Variables;
  /** What they may fill with what they build. */
  readonly folder: string;
  /** Ends them. */
  readonly stop: AbortSignal;
}

type Variables = Readonly<Record<string, string>>;

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PYTHON = process.env['PYTHON'] ?? 'python3';
const MINUTE_MS = 60_000;

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
  const run = async ({ variables, stop }: Conditions): Promise<Result> => {
    const more = { PYTHONDONTWRITEBYTECODE: '1' };
    return await check(PYTHON, join(HERE, 'python', script), { ...variables, ...more }, stop);
  };
  return { name, run };
}

/**
 * A project in the folder `dotnet`, built where the source stays as it is.
 * @param path its folder there and its name, such as `sdk/Sdk`
 */
function dotnet(name: string, path: string, more: Variables = {}): Stack {
  const run = async ({ variables, folder, stop }: Conditions): Promise<Result> => {
    const artifacts = join(folder, 'dotnet');
    const args = ['--artifacts-path', artifacts, '--verbosity', 'quiet', '--nologo'];
    const source = join(HERE, 'dotnet', dirname(path));
    const project = basename(path);
    const quiet = { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' };
    const program = join(artifacts, 'bin', project, 'debug', `${project}.dll`);
    if (!existsSync(program)) {
      const late = AbortSignal.timeout(MINUTES_MAX.build * MINUTE_MS);
      const built = await runProgram('dotnet', ['build', source, ...args], quiet, { stop, late });
      const result = resultOfBuild(built);
      if (result !== undefined && 'bad' in result) console.error(built.output);
      if (result !== undefined) return result;
    }
    return await check('dotnet', program, { ...quiet, ...variables, ...more }, stop);
  };
  return { name, run };
}

async function check(command: string, program: string, variables: Variables, stop: AbortSignal) {
  const late = AbortSignal.timeout(MINUTES_MAX.checks * MINUTE_MS);
  return resultOfChecks(await runProgram(command, [program], variables, { stop, late }), command);
}
