import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import type { ResourceAnswer } from '../../../lambdas/declare/cloud-formation.ts';
import { type Composition, compose } from '../../../lambdas/http/compose.ts';
import { ENGINE_REGION } from '../../../local/engine/engine-address.ts';
import { ensureTables } from '../../../local/tables.ts';
import { LEASE_MS } from '../../../shared/app/leases.ts';
import { realRandom } from '../../../shared/app/real-random.ts';
import { readParameterPrefix, readTier } from '../../../shared/app/settings.ts';
import { VARIABLES } from '../../../shared/app/variables.ts';
import { engineClient, engineOfTests, ROOT_KEY } from '../../support/start-broker.ts';
import { LEASE_END_MS } from '../../support/virtual-time.ts';
import {
  type AnswerAddress,
  type EngineProxy,
  startAnswerAddress,
  startEngineProxy,
  startSsm,
  type When,
} from './aws-doubles.ts';
import { FakeStack } from './stack.ts';

const PROCESS = fileURLToPath(new URL('function-process.mjs', import.meta.url));
/** Lambda tries an event that CloudFormation has sent once, and twice more. */
const LAMBDA_TRIES = 3;

/** A function as it is deployed. */
export interface DeployedCode {
  /** The path of its index.js. */
  readonly file: string;
  /** Its variables; the names of tables are replaced. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How the function runs. */
export interface DeployedOptions {
  /** Whether changes wait until the leases of other processes have ended, 2.2 s each. Default: they do not. */
  readonly waitsForLeases?: boolean;
}

/** Runs the function in processes of its own, one event at a time in each, as Lambda does. */
export class DeployedFunction {
  readonly parameters: ReadonlyMap<string, string>;
  readonly addresses: AnswerAddress;
  /** The address of Systems Manager. */
  readonly ssmUrl: string;
  /** The whole namespace in another process: all routes, and management. */
  readonly namespace: Composition;
  /** How many processes were killed. */
  kills = 0;
  /** What the processes have logged as faults. */
  readonly faults: readonly string[];
  readonly #proxy: EngineProxy;
  readonly #start: () => ChildProcess;
  readonly #idle: ChildProcess[] = [];
  #plan: { readonly request: number; readonly when: When } | undefined;

  private constructor(
    surroundings: Pick<
      DeployedFunction,
      'parameters' | 'addresses' | 'namespace' | 'ssmUrl' | 'faults'
    >,
    proxy: EngineProxy,
    start: () => ChildProcess,
  ) {
    this.parameters = surroundings.parameters;
    this.addresses = surroundings.addresses;
    this.namespace = surroundings.namespace;
    this.ssmUrl = surroundings.ssmUrl;
    this.faults = surroundings.faults;
    this.#proxy = proxy;
    this.#start = start;
  }

  /** Deploys a function with tables of its own; it ends with the test. */
  static async start(
    t: TestContext,
    { file, environment }: DeployedCode,
    { waitsForLeases = false }: DeployedOptions = {},
  ): Promise<DeployedFunction> {
    const client = engineClient();
    const name = `declare-${randomBytes(6).toString('hex')}`;
    const tables = { entities: `${name}-entities`, messages: `${name}-messages` };
    await ensureTables(client, tables);
    const namespace = compose({
      client,
      tables,
      namespace: environment[VARIABLES.namespace] ?? '',
      tier: readTier(environment),
      rootKey: ROOT_KEY,
      leaseMs: LEASE_MS.deployed,
      receiveWaitMsMax: 0,
      random: realRandom,
      clock: { now: () => Date.now() },
    });
    const engine = engineOfTests();
    const proxy = await startEngineProxy(t, engine.url);
    const ssm = await startSsm(t, readParameterPrefix(environment));
    const env = {
      ...environment,
      [VARIABLES.entitiesTable]: tables.entities,
      [VARIABLES.messagesTable]: tables.messages,
      AWS_ENDPOINT_URL_DYNAMODB: proxy.url,
      AWS_ENDPOINT_URL_SSM: ssm.url,
      AWS_REGION: ENGINE_REGION,
      AWS_ACCESS_KEY_ID: engine.accessKey,
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    };
    const skippedMs = waitsForLeases ? [] : [String(LEASE_END_MS)];
    const started: ChildProcess[] = [];
    const faults: string[] = [];
    const start = () => {
      const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
      const child = spawn(process.execPath, [PROCESS, file, ...skippedMs], {
        env,
        stdio: [...stdio],
      });
      child.stderr?.on('data', (text) => faults.push(String(text)));
      started.push(child);
      return child;
    };
    t.after(async () => {
      for (const child of started) child.kill('SIGKILL');
      await namespace.close();
      client.destroy();
    });
    const { url: ssmUrl, values: parameters } = ssm;
    const addresses = await startAnswerAddress(t);
    return new DeployedFunction({ parameters, addresses, namespace, ssmUrl, faults }, proxy, start);
  }

  /** A stack that declares entities by this function. */
  stack(name: string): FakeStack {
    return new FakeStack(name, (event) => this.answer(event));
  }

  /** Kills the process of the next event at its request to DynamoDB with this number. */
  killAt(request: number, when: When): void {
    this.#plan = { request, when };
  }

  /** Answers an event: what came to the address for answers. */
  async answer(event: CloudFormationCustomResourceEvent): Promise<ResourceAnswer> {
    const ResponseURL = this.addresses.next();
    const failures: string[] = [];
    for (let tries = 1; tries <= LAMBDA_TRIES; tries++) {
      const failure = await this.#invoke({ ...event, ResponseURL });
      if (failure === undefined) break;
      failures.push(failure);
    }
    const answer = this.addresses.answerAt(ResponseURL);
    assert.ok(answer !== undefined, `no answer: ${failures.join(', ')}\n${this.faults.join('')}`);
    const { StackId, RequestId, LogicalResourceId } = event;
    assert.deepEqual(
      [answer.StackId, answer.RequestId, answer.LogicalResourceId],
      [StackId, RequestId, LogicalResourceId],
    );
    return answer;
  }

  /** Hands an event to a process. Returns why it did not end well. */
  async #invoke(event: CloudFormationCustomResourceEvent): Promise<string | undefined> {
    const child = this.#idle.pop() ?? this.#start();
    const plan = this.#plan;
    this.#plan = undefined;
    if (plan !== undefined) {
      this.#proxy.killAt(plan.request, plan.when, () => {
        this.kills++;
        child.kill('SIGKILL');
      });
    }
    child.send(event);
    const failure = await endOf(child);
    this.#proxy.disarm();
    if (child.exitCode === null && child.signalCode === null) this.#idle.push(child);
    return failure;
  }
}

/** Waits until a process has handled its event. Resolves to why that did not end well. */
function endOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const onMessage = ({ error }: { readonly error?: string }) => end(error);
    const onExit = (code: number | null, signal: string | null) => end(`exit ${code ?? signal}`);
    const end = (failure: string | undefined) => {
      child.off('message', onMessage).off('exit', onExit);
      resolve(failure);
    };
    child.on('message', onMessage).on('exit', onExit);
  });
}
