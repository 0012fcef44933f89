import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { compose } from '../../lambdas/http/compose.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { ApiClient, type Send } from './api-client.ts';
import { LambdaFunction, toResponse } from './lambda-events.ts';
import { ManualClock } from './manual-clock.ts';
import { specMode } from './spec-modes.ts';
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
 * A namespace whose requests go through the Lambda adapter: each request is an event of API Gateway, or of a function
 * URL in that mode of `registerSpecs`, and each response is the result of the function.
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
  const handler = new LambdaFunction(
    composition,
    specMode() === 'function URL' ? 'functionUrl' : 'apiGateway',
  );
  const send: Send = async (url, init) => {
    const result = await handler.call(new Request(url, init));
    resultBytes.push(Buffer.byteLength(JSON.stringify(result)));
    const line = Object.entries(result.headers ?? {}).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    // API Gateway refuses larger headers, and responds itself.
    if (line.join('').length > GATEWAY_HEADER_BYTES_MAX) return new Response(null, { status: 500 });
    return toResponse(result);
  };
  const api = new ApiClient(`https://${DOMAIN}`, ROOT_KEY, send);
  const broker = new TestBroker({ api, clock, meter, namespace, composition, time });
  const requireResultsFit = () => {
    const largest = Math.max(...resultBytes);
    assert.ok(largest <= LAMBDA_RESULT_BYTES_MAX, `a result takes ${largest} bytes`);
  };
  return { broker, resultBytes, requireResultsFit };
}
