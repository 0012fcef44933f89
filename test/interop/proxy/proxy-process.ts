import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandLine } from '../../runner/built-server.ts';
import { engineOfTests, TABLES } from '../../support/start-broker.ts';
import type { TestNamespace } from '../start-namespace.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** `dynabus proxy` as a process. */
export interface ProxyProcess {
  readonly child: ChildProcess;
  /** As it has printed it. */
  readonly connectionString: string;
  readonly port: number;
  output(): string;
  errors(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** The variables of a process that uses the engine of the tests in the place of AWS. */
export function awsOfTests(): Readonly<Record<string, string>> {
  const { url, accessKey } = engineOfTests();
  return {
    AWS_REGION: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: url,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
}

/** What the construct would give for a namespace, which is of the tier Standard. */
export function directSettings({ settings: { namespace } }: Pick<TestNamespace, 'settings'>) {
  const { entities: entitiesTable, messages: messagesTable } = TABLES;
  return JSON.stringify({ entitiesTable, messagesTable, namespace, tier: 'Standard' });
}

/** Starts one with its log as JSON. Resolves when it serves. It is killed after the test, if it still runs. */
export async function startProxyProcess(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProxyProcess> {
  const child = spawn(process.execPath, [...commandLine(), 'proxy', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...awsOfTests(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const texts = { stdout: '', stderr: '' };
  const started = new Promise<string>((resolve, reject) => {
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
        const [first, rest] = texts.stdout.split('\n', 2);
        if (first !== undefined && rest !== undefined) resolve(first);
      });
    }
    void ended.then((code) => reject(new Error(`It ended with ${code}: ${texts.stderr}`)));
  });
  const { connectionString, port } = JSON.parse(await started);
  const output = () => texts.stdout;
  return { child, ended, connectionString, port, output, errors: () => texts.stderr };
}
