import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { Scheduler } from '../domain/scheduler.ts';
import { OwnBlocks } from '../storage/hints/own-blocks.ts';
import type { WaitedStream } from '../storage/hints/wake-ups.ts';
import { type Hearing, hear } from '../storage/streams/hear.ts';
import { DEPLOYED_PACE, type ReadPace } from '../storage/streams/shard-reader.ts';
import { streamCalls } from '../storage/streams/stream-calls.ts';
import { TableStream } from '../storage/streams/table-stream.ts';
import { boundedClient } from './bounded-client.ts';
import { realScheduler } from './real-scheduler.ts';

/** Requests for the stream that may be under way at the same time: one for each shard. */
const SOCKETS_MAX = 16;

/** The stream of a messages table, for all namespaces of a process. */
export interface WaitStream {
  /** What the process stores itself. */
  readonly ownBlocks: OwnBlocks;
  /** The stream as the waiting receives of one namespace hear it. */
  of(hearing: () => Hearing): WaitedStream;
  /** Ends all reading. */
  close(): void;
}

/** What `openStream` needs. */
export interface StreamSettings {
  /** The client of the tables; the stream is read with its region, credentials and endpoint. */
  readonly client: DynamoDBClient;
  readonly messagesTable: string;
  /** Default: that of a deployment. */
  readonly pace?: ReadPace;
  /** Default: the timers of the process. */
  readonly scheduler?: Scheduler;
  /** Called with an error that lasts, such as missing rights. */
  readonly report: (error: unknown) => void;
}

/**
 * Opens the stream of the messages table. It is read while receives wait, from the present on; where the table has
 * none, or reading fails, receives look for themselves as without it.
 */
export function openStream(settings: StreamSettings): WaitStream {
  const { client, messagesTable, report } = settings;
  const { pace = DEPLOYED_PACE, scheduler = realScheduler } = settings;
  const { region, credentials, endpoint } = client.config;
  const streams = new DynamoDBStreamsClient({
    ...boundedClient(SOCKETS_MAX),
    // The reader has pauses of its own.
    maxAttempts: 1,
    region,
    credentials,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const calls = streamCalls(client, streams, messagesTable);
  const stream = waitStreamOf(new TableStream({ calls, scheduler, pace, report }));
  return {
    ...stream,
    close: () => {
      stream.close();
      streams.destroy();
    },
  };
}

/** The stream of a table as waiting receives use it. */
export function waitStreamOf(stream: TableStream): WaitStream {
  return {
    ownBlocks: new OwnBlocks(),
    of: (hearing) => ({
      get coveredSince() {
        return stream.coveredSince;
      },
      attend: () => {
        const parts = hearing();
        return stream.attend({
          hear: (news) => hear(parts, news),
          lapsed: () => parts.wakeUps.streamLapsed(),
        });
      },
    }),
    close: () => stream.close(),
  };
}
