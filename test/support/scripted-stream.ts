import type {
  RecordPage,
  ShardStart,
  StreamCalls,
  StreamRecord,
  StreamShard,
} from '../../shared/storage/streams/stream-calls.ts';

interface ScriptedShard {
  readonly id: string;
  readonly parent: string | undefined;
  readonly records: StreamRecord[];
  isClosed: boolean;
}

/** An error as the SDK throws it. */
export function streamError(name: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
}

/** A stream that a test writes, splits, breaks and delays. Iterators are `<shard>@<record>`. */
export class ScriptedStream implements StreamCalls {
  readonly #shards: ScriptedShard[] = [];
  /** The requests so far, such as `read s1@0`. */
  readonly requests: string[] = [];
  /** Decides about a request before it is answered: it may throw, or wait. */
  onRequest: (request: string) => void | Promise<void> = () => {};
  /** Undefined = the table has no stream. */
  name: string | undefined = 'stream';
  recordsPerPage = 100;

  constructor(...ids: readonly string[]) {
    for (const id of ids) this.addShard(id);
  }

  /** The number of requests of a kind since the last call. */
  take(kind: string): number {
    const taken = this.requests.filter((request) => request.startsWith(kind)).length;
    this.requests.length = 0;
    return taken;
  }

  addShard(id: string, parent?: string): void {
    this.#shards.push({ id, parent, records: [], isClosed: false });
  }

  closeShard(id: string): void {
    this.#shard(id).isClosed = true;
  }

  /** Appends the record of a new block of a log. */
  write(id: string, log: string): void {
    const sk = `b${this.#shard(id).records.length.toString(16).padStart(12, '0')}`;
    this.#shard(id).records.push({ kind: 'INSERT', pk: log, sk });
  }

  async find(): Promise<string | undefined> {
    await this.#request('find');
    return this.name;
  }

  async shards(): Promise<readonly StreamShard[]> {
    await this.#request('shards');
    return this.#shards.map(({ id, parent, isClosed }) => ({ id, parent, isClosed }));
  }

  async iterator(_: string, id: string, from: ShardStart): Promise<string> {
    await this.#request(`iterator ${id} ${from}`);
    return `${id}@${from === 'LATEST' ? this.#shard(id).records.length : 0}`;
  }

  async read(iterator: string): Promise<RecordPage> {
    await this.#request(`read ${iterator}`);
    const [id = '', at = ''] = iterator.split('@');
    const { records, isClosed } = this.#shard(id);
    const page = records.slice(Number(at), Number(at) + this.recordsPerPage);
    const next = Number(at) + page.length;
    const isAtEnd = next === records.length;
    return {
      records: page,
      next: isClosed && isAtEnd ? undefined : `${id}@${next}`,
      isFull: !isAtEnd,
    };
  }

  #shard(id: string): ScriptedShard {
    const found = this.#shards.find((one) => one.id === id);
    if (found === undefined) throw streamError('ResourceNotFoundException');
    return found;
  }

  async #request(request: string): Promise<void> {
    this.requests.push(request);
    await this.onRequest(request);
  }
}
