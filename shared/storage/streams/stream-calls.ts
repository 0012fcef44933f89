import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
  type _Record as StreamsRecord,
} from '@aws-sdk/client-dynamodb-streams';
import type { Item } from '../dynamodb/table.ts';
import { PARTITION_KEY, SORT_KEY } from '../schema/tables.ts';

/** A change of an item of the table. */
export interface StreamRecord {
  readonly kind: 'INSERT' | 'MODIFY' | 'REMOVE';
  readonly pk: string;
  readonly sk: string;
  /** The item after the change; absent where it was removed, and in streams of keys only. */
  readonly image?: Item | undefined;
}

/** One answer of a shard. */
export interface RecordPage {
  readonly records: readonly StreamRecord[];
  /** Where to read on; undefined = the shard is closed, and read to its end. */
  readonly next: string | undefined;
  /** Whether more records may lie ready. */
  readonly isFull: boolean;
}

/** A part of a stream. It is closed after some hours, or when the table splits, and then has children. */
export interface StreamShard {
  readonly id: string;
  readonly parent: string | undefined;
  readonly isClosed: boolean;
}

/** Where reading of a shard begins: after what it has now, or with its first record. */
export type ShardStart = 'LATEST' | 'TRIM_HORIZON';

/** The requests of a reader. Each throws the error of the SDK. */
export interface StreamCalls {
  /** The stream of the table; undefined = it has none. */
  find(): Promise<string | undefined>;
  shards(stream: string): Promise<readonly StreamShard[]>;
  iterator(stream: string, shard: string, from: ShardStart): Promise<string>;
  read(iterator: string): Promise<RecordPage>;
}

/** The most records and bytes that an answer has; a page near them may have been cut off. */
const RECORDS_PER_PAGE = 1000;
const FULL_PAGE_BYTES = 900_000;
/** Pages of 100 shards, of which a table has some for each partition and each four hours of a day. */
const SHARD_PAGES_MAX = 50;

/** The requests for the stream of a table. */
export function streamCalls(
  tables: Pick<DynamoDBClient, 'send'>,
  streams: Pick<DynamoDBStreamsClient, 'send'>,
  tableName: string,
): StreamCalls {
  return {
    find: async () => {
      const { Table } = await tables.send(new DescribeTableCommand({ TableName: tableName }));
      return Table?.StreamSpecification?.StreamEnabled ? Table.LatestStreamArn : undefined;
    },
    shards: async (stream) => {
      const shards: StreamShard[] = [];
      let after: string | undefined;
      for (let pages = 0; pages < SHARD_PAGES_MAX; pages++) {
        const input = { StreamArn: stream, ExclusiveStartShardId: after };
        const { StreamDescription: page } = await streams.send(new DescribeStreamCommand(input));
        shards.push(...(page?.Shards ?? []).map(toShard));
        after = page?.LastEvaluatedShardId;
        if (after === undefined) break;
      }
      return shards;
    },
    iterator: async (StreamArn, ShardId, ShardIteratorType) => {
      const input = { StreamArn, ShardId, ShardIteratorType };
      const { ShardIterator = '' } = await streams.send(new GetShardIteratorCommand(input));
      return ShardIterator;
    },
    read: async (iterator) => {
      const input = { ShardIterator: iterator, Limit: RECORDS_PER_PAGE };
      const { Records = [], NextShardIterator } = await streams.send(new GetRecordsCommand(input));
      const bytes = Records.reduce((sum, { dynamodb }) => sum + (dynamodb?.SizeBytes ?? 0), 0);
      return {
        records: Records.flatMap(toRecord),
        next: NextShardIterator,
        isFull: Records.length >= RECORDS_PER_PAGE || bytes >= FULL_PAGE_BYTES,
      };
    },
  };
}

function toShard({ ShardId = '', ParentShardId, SequenceNumberRange }: Shard): StreamShard {
  return {
    id: ShardId,
    parent: ParentShardId,
    isClosed: SequenceNumberRange?.EndingSequenceNumber !== undefined,
  };
}

function toRecord({ eventName, dynamodb }: StreamsRecord): readonly StreamRecord[] {
  const pk = dynamodb?.Keys?.[PARTITION_KEY]?.S;
  const sk = dynamodb?.Keys?.[SORT_KEY]?.S;
  if (eventName === undefined || pk === undefined || sk === undefined) return [];
  return [{ kind: eventName, pk, sk, image: dynamodb?.NewImage as Item | undefined }];
}
