import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleGateway } from '../../../cdk/constructs/bundle.ts';
import { GATEWAY_VARIABLES } from '../../../gateway/variables.ts';
import { ensureTables } from '../../../local/tables.ts';
import { VARIABLES } from '../../../shared/app/variables.ts';
import { engineClient, engineOfTests, TABLES } from '../../support/start-broker.ts';
import { type ForwardedPort, forwardPort } from './forwarded-port.ts';

/** No word that could stand in a log for another reason. */
export const ROOT_KEY = randomBytes(24).toString('hex');

/** Whatever a task says it says soon. */
const SAID_MS_MAX = 30_000;

/** One task of the gateway: the bundle that an image would hold, as a process of its own. */
export interface GatewayTask {
  readonly child: ChildProcess;
  /** Where clients reach it, by way of a load balancer. */
  readonly port: number;
  /** Where it listens itself. */
  readonly ownPort: number;
  /** Every line it wrote so far. */
  lines(): readonly LogLine[];
  /** Resolves once a line is there that it is, or one with this message. */
  untilLine(isIt: (line: LogLine) => boolean): Promise<LogLine>;
  untilSaid(message: string): Promise<LogLine>;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** An entry of the log; what is no JSON is `unstructured`, and should not be there. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The environment of tasks of one namespace, and how to start them. */
export interface GatewayTasks {
  /** Resolves once it serves. */
  start(options?: TaskOptions): Promise<GatewayTask>;
  /** Does not wait until it serves: perhaps it never does. */
  launch(options?: TaskOptions): Omit<GatewayTask, 'port' | 'ownPort'>;
  /** For those that start tasks in a way of their own. */
  readonly program: TaskProgram;
  /** Ends those that are left. */
  stop(): void;
}

/** What a task runs. */
export interface TaskProgram {
  readonly file: string;
  readonly environment: NodeJS.ProcessEnv;
  /** What is kept in the tables of `TABLES` by all tasks. */
  readonly namespace: string;
}

export interface TaskOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** For node, before the bundle. */
  readonly args?: readonly string[];
}

/** Makes the bundle, the tables, and what AWS would answer a task. */
export async function prepareTasks(): Promise<GatewayTasks> {
  const folder = mkdtempSync(join(tmpdir(), 'dynabus-gateway-'));
  bundleGateway(folder);
  const client = engineClient();
  await ensureTables(client, TABLES);
  client.destroy();
  const aws = await startAws();
  const children: ChildProcess[] = [];
  const forwarded: ForwardedPort[] = [];
  const { port } = aws.address() as AddressInfo;
  const file = join(folder, 'index.js');
  const namespace = `gateway-${randomBytes(6).toString('hex')}`;
  const environment = {
    PATH: process.env['PATH'],
    [VARIABLES.entitiesTable]: TABLES.entities,
    [VARIABLES.messagesTable]: TABLES.messages,
    [VARIABLES.namespace]: namespace,
    [VARIABLES.rootKeySecret]: 'arn:aws:secretsmanager:local:111122223333:secret:key',
    [VARIABLES.receiveWaitMsMax]: '60000',
    [GATEWAY_VARIABLES.port]: '0',
    [GATEWAY_VARIABLES.drainNoticeMs]: '0',
    AWS_REGION: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: engineOfTests().url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}/secrets`,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/credentials`,
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
  const launch = ({ env = {}, args = [] }: TaskOptions = {}) => {
    const child = spawn(process.execPath, [...args, file], {
      env: { ...environment, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    return observed(child);
  };
  return {
    launch,
    program: { file, environment, namespace },
    start: async (options) => {
      const task = launch(options);
      const { port: ownPort } = await task.untilSaid('Started');
      const way = await forwardPort(Number(ownPort));
      forwarded.push(way);
      return { ...task, ownPort: Number(ownPort), port: way.port };
    },
    stop: () => {
      for (const child of children) child.kill('SIGKILL');
      for (const way of forwarded) way.stop();
      aws.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function observed(child: ChildProcess): Omit<GatewayTask, 'port' | 'ownPort'> {
  let text = '';
  let look = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      look();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const lines = () => text.split('\n').slice(0, -1).map(parseLine);
  const untilLine = (isIt: (line: LogLine) => boolean) =>
    new Promise<LogLine>((resolve, reject) => {
      look = () => {
        const line = lines().find(isIt);
        if (line !== undefined) resolve(line);
      };
      look();
      void ended.then((code) => reject(new Error(`It ended with ${code}: ${text}`)));
      setTimeout(() => reject(new Error(`It did not say so: ${text}`)), SAID_MS_MAX).unref();
    });
  const untilSaid = (wanted: string) => untilLine(({ message }) => message === wanted);
  return { child, lines, untilLine, untilSaid, ended };
}

function parseLine(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return { unstructured: line };
  }
}

/** What a task hears from AWS besides its tables: whose role it has, and the root key. */
async function startAws() {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        request.url?.startsWith('/credentials')
          ? {
              AccessKeyId: engineOfTests().accessKey,
              SecretAccessKey: 'local',
              Token: 'local',
              Expiration: new Date(Date.now() + 3_600_000).toISOString(),
            }
          : { SecretString: ROOT_KEY },
      ),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  assert.ok(server.address());
  return server;
}
