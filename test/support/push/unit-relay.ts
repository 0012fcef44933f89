import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { UnitMeter, type Units } from '../../../shared/storage/dynamodb/capacity-meter.ts';

/** Passes requests on to an engine, and counts what DynamoDB charges for them. */
export interface UnitRelay {
  readonly url: string;
  /** Whether a request is under way. */
  isBusy(): boolean;
  /** What was counted since the last call. */
  take(): Units;
  /** How often each operation was asked for since the last call. */
  takeOperations(): ReadonlyMap<string, number>;
  close(): void;
}

/** The members of requests that decide the least price. */
interface Sent {
  readonly ConsistentRead?: boolean;
  readonly RequestItems?: Readonly<Record<string, unknown>>;
  readonly TransactItems?: readonly unknown[];
}

/** Starts one in front of the engine at an address. The caller closes it. */
export async function startUnitRelay(engine: string): Promise<UnitRelay> {
  const meter = new UnitMeter();
  let operations = new Map<string, number>();
  let underWay = 0;
  const { hostname, port } = new URL(engine);
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (incoming, answer) => {
    underWay++;
    answer.on('close', () => underWay--);
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    operations.set(operation, (operations.get(operation) ?? 0) + 1);
    const sent = JSON.parse((await buffer(incoming)).toString());
    const body = JSON.stringify({ ...sent, ReturnConsumedCapacity: 'TOTAL' });
    const finish = meter.begin(isRead(operation) ? 'read' : 'write', leastOf(operation, sent));
    const headers = { ...incoming.headers, 'content-length': String(Buffer.byteLength(body)) };
    const onward = request({ agent, hostname, port, method: 'POST', path: '/', headers });
    onward.on('error', () => answer.destroy());
    onward.end(body);
    const [response] = (await once(onward, 'response')) as [IncomingMessage];
    const bytes = await buffer(response);
    const { statusCode = 500 } = response;
    finish(statusCode === 200 ? JSON.parse(bytes.toString()).ConsumedCapacity : undefined);
    const { 'transfer-encoding': _, ...more } = response.headers;
    answer.writeHead(statusCode, { ...more, 'content-length': String(bytes.length) }).end(bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isBusy: () => underWay > 0,
    take: () => meter.take(),
    takeOperations: () => {
      const taken = operations;
      operations = new Map();
      return taken;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}

function isRead(operation: string): boolean {
  return /^(?:Get|Query|BatchGet)/.test(operation);
}

/** The least that DynamoDB charges. Engines report too little for transactions, and nothing where nothing is found. */
function leastOf(operation: string, { ConsistentRead, RequestItems, TransactItems }: Sent): number {
  if (TransactItems !== undefined) return 2 * TransactItems.length;
  const items = Object.values(RequestItems ?? {}).flatMap((of) =>
    Array.isArray(of) ? of : ((of as { readonly Keys?: readonly unknown[] }).Keys ?? []),
  );
  const count = RequestItems === undefined ? 1 : items.length;
  return isRead(operation) && ConsistentRead !== true ? count / 2 : count;
}
