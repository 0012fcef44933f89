import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { compose } from '../../lambdas/http/compose.ts';
import { httpHandler } from '../../lambdas/http/lambda.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { ApiClient } from './api-client.ts';
import { ManualClock } from './manual-clock.ts';
import { engineClient, ROOT_KEY, TABLES, tablesExist } from './start-broker.ts';
import { TestBroker } from './test-broker.ts';
import { VirtualTime } from './virtual-time.ts';

/** The maximum size of a function's result in Lambda, as JSON, in bytes. */
export const LAMBDA_RESULT_BYTES_MAX = 6_291_556;
/** The maximum size of a status line and headers in API Gateway, without those it adds, in bytes. */
const GATEWAY_HEADER_BYTES_MAX = 10_240 - 200;
const DOMAIN = 'b.example';

/** A namespace behind the Lambda adapter. */
export interface LambdaBroker {
  readonly broker: TestBroker;
  /** Sizes of the results so far, as JSON, in bytes. */
  readonly resultBytes: readonly number[];
  /** Fails if Lambda would refuse one of the results so far. */
  readonly requireResultsFit: () => void;
}

/**
 * A namespace whose requests go through the Lambda adapter: each request is an event of API Gateway, and each
 * response is the result of the function.
 */
export async function startLambdaBroker(
  t: TestContext,
  tier: 'Standard' | 'Premium' = 'Standard',
): Promise<LambdaBroker> {
  const client = engineClient();
  await tablesExist();
  const clock = new ManualClock();
  const meter = new UnitMeter();
  const time = new VirtualTime();
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const composition = compose({
    client,
    tables: TABLES,
    namespace,
    tier,
    clock,
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    scheduler: time,
    receiveWaitMsMax: 0,
    answerBytesMax: LIMITS.answerBytes,
    meter,
  });
  t.after(async () => {
    await composition.close();
    client.destroy();
  });
  const resultBytes: number[] = [];
  const handler = httpHandler(composition.app, () => composition.idle(), {});
  const send = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const result = await handler(toEvent(new URL(String(input)), init));
    resultBytes.push(Buffer.byteLength(JSON.stringify(result)));
    const bytes = Buffer.from(result.body ?? '', 'base64');
    const headers = new Headers(result.headers as Record<string, string>);
    const { statusCode: status = 500 } = result;
    const line = Object.entries(result.headers ?? {}).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    // API Gateway refuses larger headers, and responds itself.
    if (line.join('').length > GATEWAY_HEADER_BYTES_MAX) return new Response(null, { status: 500 });
    return new Response(status === 204 ? null : bytes, { status, headers });
  };
  const api = new ApiClient(`https://${DOMAIN}`, ROOT_KEY, send);
  const broker = new TestBroker({ api, clock, meter, namespace, composition, time });
  const requireResultsFit = () => {
    const largest = Math.max(...resultBytes);
    assert.ok(largest <= LAMBDA_RESULT_BYTES_MAX, `a result takes ${largest} bytes`);
  };
  return { broker, resultBytes, requireResultsFit };
}

function toEvent(url: URL, { method = 'GET', headers, body }: RequestInit): APIGatewayProxyEventV2 {
  const bytes = body instanceof Uint8Array ? Buffer.from(body) : undefined;
  return {
    rawPath: decodeURI(url.pathname),
    rawQueryString: url.search.slice(1),
    headers: Object.fromEntries(new Headers(headers)),
    isBase64Encoded: bytes !== undefined,
    ...(bytes === undefined ? {} : { body: bytes.toString('base64') }),
    requestContext: { domainName: DOMAIN, http: { method } },
  } as APIGatewayProxyEventV2;
}
