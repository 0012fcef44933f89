import type { TestContext } from 'node:test';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { ensureStream, ensureTables } from '../../local/tables.ts';
import { type WaitStream, waitStreamOf } from '../../shared/app/open-stream.ts';
import { DEPLOYED_PACE } from '../../shared/storage/streams/shard-reader.ts';
import { type StreamCalls, streamCalls } from '../../shared/storage/streams/stream-calls.ts';
import { TableStream } from '../../shared/storage/streams/table-stream.ts';
import { engineClient, TABLES } from './start-broker.ts';
import type { SteppedTime } from './stepped-time.ts';

/** Tables of which that of messages has a stream. */
export const STREAMED_TABLES = { ...TABLES, messages: `${TABLES.messages}-streamed` } as const;

/**
 * The stream of these tables on a real engine, read as in a deployment, in time that a test moves. `change` may break
 * its requests.
 */
export async function streamOf(
  t: TestContext,
  time: SteppedTime,
  change: (calls: StreamCalls) => StreamCalls = (calls) => calls,
): Promise<WaitStream> {
  const client = engineClient();
  const { region, credentials, endpoint } = client.config;
  if (endpoint === undefined) throw new Error('The client of an engine has an endpoint.');
  const streams = new DynamoDBStreamsClient({ region, credentials, endpoint });
  await ensureTables(client, STREAMED_TABLES);
  await ensureStream(client, STREAMED_TABLES);
  const calls = change(streamCalls(client, streams, STREAMED_TABLES.messages));
  const held: StreamCalls = {
    find: () => time.holdDuring(calls.find()),
    shards: (stream) => time.holdDuring(calls.shards(stream)),
    iterator: (...which) => time.holdDuring(calls.iterator(...which)),
    read: (iterator) => time.holdDuring(calls.read(iterator)),
  };
  const report = (error: unknown) => {
    throw error;
  };
  const stream = waitStreamOf(
    new TableStream({ calls: held, scheduler: time, pace: DEPLOYED_PACE, report }),
  );
  t.after(() => {
    stream.close();
    streams.destroy();
    client.destroy();
  });
  return stream;
}
