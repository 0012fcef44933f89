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

/** Random, so that the log cannot contain it by chance. */
export const ROOT_KEY = randomBytes(24).toString('hex');

/** How long to wait for a line of the log. */
const SAID_MS_MAX = 30_000;

/** One task of the gateway: the bundle that an image would hold, as a process of its own. */
export interface GatewayTask {
  readonly child: ChildProcess;
  /** The port for clients, which goes through a load balancer. */
  readonly port: number;
  /** The port on which the task itself listens. */
  readonly ownPort: number;
  /** All lines that it has written so far. */
  lines(): readonly LogLine[];
  /** Resolves with a line that matches, or that has a message. Rejects if the task ends before. */
  untilLine(matches: (line: LogLine) => boolean): Promise<LogLine>;
  untilSaid(message: string): Promise<LogLine>;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** An entry of the log. A line that is not JSON has the field `unstructured`; there should be none. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Starts tasks of one namespace. */
export interface GatewayTasks {
  /** Starts a task. Resolves when it serves. */
  start(options?: TaskOptions): Promise<GatewayTask>;
  /** Starts a task, and does not wait until it serves. */
  launch(options?: TaskOptions): Omit<GatewayTask, 'port' | 'ownPort'>;
  /** For tests that start tasks themselves. */
  readonly program: TaskProgram;
  /** Kills the tasks that still run, and removes the bundle. */
  stop(): void;
}

/** The program and environment of a task. */
export interface TaskProgram {
  readonly file: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The namespace of all tasks, in the tables of `TABLES`. */
  readonly namespace: string;
}

export interface TaskOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of node, before the bundle. */
  readonly args?: readonly string[];
}

/** Makes the bundle and the tables, and starts a server that stands in for AWS. */
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
      const forwardedPort = await forwardPort(Number(ownPort));
      forwarded.push(forwardedPort);
      return { ...task, ownPort: Number(ownPort), port: forwardedPort.port };
    },
    stop: () => {
      for (const child of children) child.kill('SIGKILL');
      for (const forwardedPort of forwarded) forwardedPort.stop();
      aws.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function observed(child: ChildProcess): Omit<GatewayTask, 'port' | 'ownPort'> {
  let text = '';
  let check = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      check();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const lines = () => text.split('\n').slice(0, -1).map(parseLine);
  const untilLine = (matches: (line: LogLine) => boolean) =>
    new Promise<LogLine>((resolve, reject) => {
      check = () => {
        const line = lines().find(matches);
        if (line !== undefined) resolve(line);
      };
      check();
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

/** Stands in for AWS besides DynamoDB: answers with the credentials of the role and the root key. */
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
