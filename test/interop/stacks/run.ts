import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { obtainCertificate } from '../../../local/certificate.ts';
import { startEngine } from '../../../local/engine/engine.ts';
import { StartupError } from '../../../local/startup-error.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/**
 * `npm run stacks`: AMQP stacks of other languages against one namespace, those that are installed on
 * this machine. Arguments keep the stacks whose name holds any of them: `npm run stacks -- proton`.
 */

const SCRIPTS = fileURLToPath(new URL('python/', import.meta.url));
const PYTHON = process.env['PYTHON'] ?? 'python3';
/** By name: the script that tries it. */
const STACKS: Readonly<Record<string, string>> = {
  'qpid-proton': 'proton_smoke.py',
  'azure-servicebus for Python: links': 'azure_links.py',
  'azure-servicebus for Python: operations': 'azure_operations.py',
  'azure-servicebus for Python: administration': 'azure_administration.py',
};
/** How a script says that what it tries is not there. */
const NOT_INSTALLED = 77;

interface Tally {
  readonly what: string;
  readonly ran: number;
  readonly failed: number;
  readonly skipped: number;
}

type Result = Tally | 'not installed' | 'broken';

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
}

/** Returns the exit code. */
async function main(filters: readonly string[]): Promise<number> {
  const stacks = Object.entries(STACKS).filter(
    ([name]) => filters.length === 0 || filters.some((filter) => name.includes(filter)),
  );
  if (stacks.length === 0) {
    console.error(`No stack has ${filters.join(' or ')} in its name.`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'stacks-'));
  const engine = await startEngine();
  process.env['DYNAMODB_ENDPOINT'] = engine.endpoint;
  const file = join(folder, 'cert.pem');
  const certificate = obtainCertificate(file, Date.now());
  const namespace = await startNamespace({ certificate: () => certificate });
  const results: [string, Result][] = [];
  try {
    for (const [name, script] of stacks) {
      console.log(`\n${name}`);
      results.push([name, await tryStack(script, namespace, file)]);
    }
  } finally {
    await namespace.stop();
    await engine.stop();
    rmSync(folder, { recursive: true });
  }
  console.log('');
  for (const [name, result] of results) console.log(`${name}: ${said(result)}`);
  return results.every(([, result]) => isGood(result)) ? 0 : 1;
}

async function tryStack(
  script: string,
  { port, connectionString }: TestNamespace,
  certificate: string,
): Promise<Result> {
  const child = spawn(PYTHON, [join(SCRIPTS, script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      DYNABUS_PORT: `${port}`,
      DYNABUS_CONNECTION_STRING: connectionString,
      DYNABUS_CERTIFICATE: certificate,
    },
  });
  const isThere = once(child, 'spawn').then(
    () => true,
    () => false,
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  if (!(await isThere)) return 'not installed';
  const [code] = await once(child, 'close');
  if (code === NOT_INSTALLED) return 'not installed';
  // A script that did not come to its last line has crashed.
  return output === '' ? 'broken' : (JSON.parse(output) as Tally);
}

function isGood(result: Result): boolean {
  return result === 'not installed' || (result !== 'broken' && result.failed === 0);
}

function said(result: Result): string {
  if (result === 'not installed') return 'not installed on this machine, not tried';
  if (result === 'broken') return 'crashed';
  const { what, ran, failed, skipped } = result;
  const left = skipped === 0 ? '' : `, ${skipped} left out`;
  return `${ran - failed - skipped} of ${ran} pass${left} (${what})`;
}
