import { randomBytes } from 'node:crypto';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { compose } from '../../lambdas/http/compose.ts';
import { httpHandler } from '../../lambdas/http/lambda.ts';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { ensureTables } from '../../local/tables.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { ONE_AT_A_TIME } from '../../shared/broker/create-broker.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { UnitMeter, type Units } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { copyEntity } from '../../test/support/copied-entities.ts';
import { LEASE_END_MS } from '../../test/support/virtual-time.ts';
import { type Answer, BenchClient, type Call } from '../http-client.ts';

const TABLES = { entities: 'cost-entities', messages: 'cost-messages' } as const;
const ROOT_KEY = 'costs';
const DOMAIN = 'bus.example';
const TOKEN_MS = 24 * 60 * 60 * 1000;

/** What calls of a function took. */
export interface Taken {
  readonly units: Units;
  /** Processor time of this process during the calls, ms. */
  readonly cpuMs: number;
}

/** A deployed function that runs in this process, one call at a time, and its client. */
export interface FunctionUnderTest {
  readonly http: BenchClient;
  /** Makes calls and returns what the function took for them, with work behind the answers. */
  taken(calls: () => Promise<unknown>): Promise<Taken>;
  /** Runs the sweep once. */
  sweep(): Promise<Units>;
  /** Moves the clock ahead, ms. */
  skip(ms: number): void;
  /** Stores as many queues as copies of one that exists. */
  copyQueue(name: string, copies: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** A client whose calls go to a function in this process. */
class FunctionClient extends BenchClient {
  readonly #answer: (call: Call) => Promise<Answer>;

  constructor(answer: (call: Call) => Promise<Answer>) {
    super(`https://${DOMAIN}`, ROOT_KEY, 1);
    this.#answer = answer;
  }

  protected override exchange(call: Call): Promise<Answer> {
    return this.#answer(call);
  }
}

/** Starts a function with all routes and the sweep, as Lambda would, in a new namespace of the engine. */
export async function startFunction(
  endpoint: string,
  receiveWaitMsMax = 0,
): Promise<FunctionUnderTest> {
  const client = createDynamoClient(endpoint);
  await ensureTables(client, TABLES);
  const meter = new UnitMeter();
  const namespace = `cost-${randomBytes(6).toString('hex')}`;
  let skippedMs = 0;
  const now = () => Date.now() + skippedMs;
  const composition = compose(
    {
      client,
      tables: TABLES,
      namespace,
      clock: { now },
      scheduler: withoutLeaseEnds(() => skippedMs),
      random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
      rootKey: ROOT_KEY,
      leaseMs: LEASE_MS.deployed,
      receiveWaitMsMax,
      answerBytesMax: LIMITS.answerBytes,
      meter,
    },
    ONE_AT_A_TIME,
  );
  const handler = httpHandler(composition.app, () => composition.idle(), {});
  const authorization = createSasToken({
    audience: `https://${DOMAIN}`,
    keyName: 'RootManageSharedAccessKey',
    key: ROOT_KEY,
    expiresAt: now() + TOKEN_MS,
  });
  let cpuMs = 0;
  const http = new FunctionClient(async (call) => {
    const event = toEvent(call, authorization);
    const before = process.cpuUsage();
    const { statusCode: status = 500, headers = {}, body = '' } = await handler(event);
    const { user, system } = process.cpuUsage(before);
    cpuMs += (user + system) / 1000;
    const { location } = headers as { readonly location?: string };
    return { status, bytes: Buffer.from(body, 'base64'), location };
  });
  return {
    http,
    taken: async (calls) => {
      await composition.idle();
      meter.take();
      cpuMs = 0;
      await calls();
      await composition.idle();
      return { units: meter.take(), cpuMs };
    },
    copyQueue: (name, copies) => copyEntity(client, namespace, name, copies, TABLES),
    sweep: async () => {
      meter.take();
      await composition.sweep();
      return meter.take();
    },
    skip: (ms) => {
      skippedMs += ms;
    },
    close: async () => {
      await composition.close();
      client.destroy();
    },
  };
}

/** Real time, but the wait until the leases of other processes have ended is over at once: there are none. */
function withoutLeaseEnds(skippedMs: () => number): Scheduler {
  return {
    ...realScheduler,
    now: () => realScheduler.now() + skippedMs(),
    after: (ms, work) => realScheduler.after(ms === LEASE_END_MS ? 0 : ms, work),
  };
}

function toEvent(
  { method, path, body, contentType }: Call,
  authorization: string,
): APIGatewayProxyEventV2 {
  const url = new URL(path, `https://${DOMAIN}`);
  return {
    rawPath: decodeURI(url.pathname),
    rawQueryString: url.search.slice(1),
    headers: { authorization, ...(contentType !== undefined && { 'content-type': contentType }) },
    isBase64Encoded: body !== undefined,
    ...(body !== undefined && { body: Buffer.from(body).toString('base64') }),
    requestContext: { domainName: DOMAIN, http: { method } },
  } as unknown as APIGatewayProxyEventV2;
}
