import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../../../shared/storage/schema/consumer-marks.ts';
import { LOCAL_PACE, type ReadPace } from '../../../shared/storage/streams/shard-reader.ts';
import {
  type StreamCalls,
  type StreamRecord,
  streamCalls,
} from '../../../shared/storage/streams/stream-calls.ts';
import { StreamFollower } from '../../../shared/storage/streams/stream-follower.ts';
import { engineClient } from '../start-broker.ts';

/** A record of the event of a mapping. */
export interface MappedRecord {
  readonly eventName: StreamRecord['kind'];
  readonly dynamodb: { readonly Keys: object; readonly NewImage: object };
}

/** Calls the function of a mapping; while it throws, the records are handed in again. */
export type MappedFunction = (event: {
  readonly Records: readonly MappedRecord[];
}) => Promise<unknown>;

/** Writes an item whose record shows that those of earlier writes were read: an engine here has one shard. */
type Fence = (sk: string) => Promise<void>;

/** The partition key of fences. */
const FENCE = 'fence';
/** How often a batch of records is handed to the function while that fails. */
const TRIES_MAX = 10;

/**
 * The stream of a table as an event source of a function, with the filter of a deployment: the function is called for
 * new items with the mark of consumers, and for new and changed ones with the mark of ready sessions.
 */
export class EventSourceMapping {
  /** Changes the records of a batch before the function is called, also to none, and may take its time. */
  change: (records: readonly MappedRecord[]) => Promise<readonly MappedRecord[]> = async (all) =>
    all;
  /** Records that passed the filter. */
  matched = 0;
  /** Records that did not. */
  ignored = 0;
  readonly #call: MappedFunction;
  readonly #fence: Fence;
  /** By the sort keys of fences that were not read yet. */
  readonly #fences = new Map<string, () => void>();
  #last: Promise<void> = Promise.resolve();

  private constructor(call: MappedFunction, fence: Fence) {
    this.#call = call;
    this.#fence = fence;
  }

  /** Starts to read what is written from now on. It stops after the test. */
  static async start(
    t: TestContext,
    table: string,
    call: MappedFunction,
    pace: ReadPace = LOCAL_PACE,
  ): Promise<EventSourceMapping> {
    const client = engineClient();
    const { region, credentials, endpoint } = client.config;
    if (endpoint === undefined) throw new Error('The client of an engine has an endpoint.');
    const streams = new DynamoDBStreamsClient({ region, credentials, endpoint });
    const found = streamCalls(client, streams, table);
    const stream = await found.find();
    if (stream === undefined) throw new Error(`The table '${table}' has no stream.`);
    const fence = async (sk: string) => {
      const Item = { pk: { S: FENCE }, sk: { S: sk } };
      await client.send(new PutItemCommand({ TableName: table, Item }));
    };
    await fence(randomUUID());
    const calls = await atEnds(found, stream);
    const mapping = new EventSourceMapping(call, fence);
    const follower = new StreamFollower({ calls, scheduler: realScheduler, pace }, stream, {
      records: (records) => mapping.#take(records),
      failed: (_, error) => {
        throw error;
      },
    });
    await follower.begin();
    t.after(() => {
      follower.close();
      streams.destroy();
      client.destroy();
    });
    return mapping;
  }

  /** Resolves when the records of all writes before this call are handed in. */
  async caughtUp(): Promise<void> {
    const sk = randomUUID();
    const read = new Promise<void>((resolve) => this.#fences.set(sk, resolve));
    await this.#fence(sk);
    await read;
    await this.#last;
  }

  #take(read: readonly StreamRecord[]): void {
    const all = read.filter(({ pk }) => pk !== FENCE);
    const records = all.filter(matches).map(toMapped);
    this.matched += records.length;
    this.ignored += all.length - records.length;
    if (records.length > 0) this.#last = this.#last.then(() => this.#handIn(records));
    for (const { pk, sk } of read) if (pk === FENCE) this.#pass(sk);
  }

  #pass(fence: string): void {
    this.#fences.get(fence)?.();
    this.#fences.delete(fence);
  }

  async #handIn(records: readonly MappedRecord[]): Promise<void> {
    const Records = await this.change(records);
    if (Records.length === 0) return;
    for (let tries = 1; ; tries++) {
      try {
        await this.#call({ Records });
        return;
      } catch (error) {
        if (tries === TRIES_MAX) throw error;
      }
    }
  }
}

/**
 * The requests for a stream with a record at least, where reading begins after its present records. DynamoDB Local
 * loses iterators when the first record of a stream comes.
 */
async function atEnds(calls: StreamCalls, stream: string): Promise<StreamCalls> {
  const ends = new Map<string, string>();
  for (const { id } of await calls.shards(stream)) {
    let iterator: string | undefined = await calls.iterator(stream, id, 'TRIM_HORIZON');
    while (iterator !== undefined) {
      const { records, next } = await calls.read(iterator);
      if (next !== undefined) ends.set(id, next);
      iterator = records.length > 0 ? next : undefined;
    }
  }
  return {
    ...calls,
    iterator: async (of, shard) =>
      ends.get(shard) ?? (await calls.iterator(of, shard, 'TRIM_HORIZON')),
  };
}

function matches({ kind, image }: StreamRecord): boolean {
  const mark = image?.[CONSUMER_MARK]?.N;
  if (mark === CONSUMER_MARKS.stored) return kind === 'INSERT';
  return mark === CONSUMER_MARKS.ready && kind !== 'REMOVE';
}

function toMapped({ kind, pk, sk, image = {} }: StreamRecord): MappedRecord {
  return { eventName: kind, dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, NewImage: image } };
}
