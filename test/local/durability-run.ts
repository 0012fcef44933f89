import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { LoadRandom } from '../support/load-random.ts';
import { type Cli, descendants, startNamespaceCli, untilEnded } from './cli.ts';
import type { CorpusDocument } from './corpus.ts';
import { DurabilityClient, type ReceivedDocument } from './durability-client.ts';

/** What the answers of the server imply about a document. */
type Knowledge =
  | 'unsent'
  /** The send got no answer: the document may be stored or not. */
  | 'possiblySent'
  | 'sent'
  /** The completion got no answer: the document may be removed or not. */
  | 'possiblyCompleted'
  | 'completed';

interface Held extends ReceivedDocument {
  readonly queue: string;
}

/** Long, so that no lock expires while a server is killed and started again. */
const LOCK_SECONDS = 300;

/**
 * A client of a server that is killed now and then. It keeps a ledger of what the server has acknowledged, and
 * checks every answer against it.
 */
export class DurabilityRun {
  readonly #t: TestContext;
  readonly #args: readonly string[];
  readonly #random: LoadRandom;
  readonly #documents: ReadonlyMap<string, CorpusDocument>;
  readonly #known = new Map<string, Knowledge>();
  readonly #seen = new Set<string>();
  #held: Held[] = [];
  #cli: Cli | undefined;
  /** The server's descendants, found in advance so that a kill can follow an answer at once. */
  #below: readonly number[] = [];
  #client = new DurabilityClient('http://localhost');
  #aheadSeconds = 0;

  constructor(
    t: TestContext,
    args: readonly string[],
    { documents, random }: { documents: readonly CorpusDocument[]; random: LoadRandom },
  ) {
    this.#t = t;
    this.#args = args;
    this.#random = random;
    this.#documents = new Map(documents.map((document) => [document.id, document]));
    for (const { id } of documents) this.#known.set(id, 'unsent');
  }

  get client(): DurabilityClient {
    return this.#client;
  }

  /** Starts a server on the data of the one before, with its clock at least as far ahead. */
  async start(): Promise<void> {
    const cli = await startNamespaceCli(this.#t, { args: this.#args });
    this.#cli = cli;
    this.#below = descendants(cli.child.pid);
    this.#client = new DurabilityClient(cli.url);
    if (this.#aheadSeconds > 0) await this.#client.advance(this.#aheadSeconds);
  }

  /** Kills the server with `kill -9`; with `withEngine` its engine too, like a power failure. */
  async kill({ withEngine }: { withEngine: boolean }): Promise<void> {
    const cli = this.#cli;
    assert.ok(cli, 'a server runs');
    // The server first, so that it does not report that its engine has ended. Then the supervisor, so that it
    // does not end the engine by SIGTERM.
    cli.child.kill('SIGKILL');
    if (withEngine) for (const pid of this.#below) process.kill(pid, 'SIGKILL');
    await cli.ended;
    await untilEnded(this.#below);
  }

  /** Sends a batch, and notes whether the server acknowledged it. */
  async send(queue: string, documents: readonly CorpusDocument[]): Promise<void> {
    for (const { id } of documents) this.#known.set(id, 'possiblySent');
    await this.#client.sendBatch(queue, documents);
    for (const { id } of documents) this.#known.set(id, 'sent');
  }

  /** Receives one or many messages, and checks each. Resolves with their number. */
  async receive(queue: string, maxMessages: number): Promise<number> {
    const received =
      maxMessages === 1
        ? await this.#client.receiveOne(queue)
        : await this.#client.receiveMany(queue, maxMessages);
    for (const message of received) this.#examine(message);
    this.#held.push(...received.map((message) => ({ ...message, queue })));
    return received.length;
  }

  #examine({ id, bytes }: ReceivedDocument): void {
    const document = this.#documents.get(id);
    assert.ok(document, `${id} was never sent`);
    assert.ok(Buffer.from(document.text).equals(bytes), `${id} came with other bytes`);
    const known = this.#known.get(id);
    assert.notEqual(known, 'unsent', `${id} came before it was sent`);
    assert.notEqual(known, 'completed', `${id} came back although it was completed`);
    // The document is stored: its send succeeded, and an unanswered completion did not.
    this.#known.set(id, 'sent');
    this.#seen.add(id);
  }

  /** Completes and abandons a share of the held messages each. The rest stays until its locks expire. */
  async settle(completeShare: number, abandonShare: number): Promise<void> {
    const shares = this.#held.map((held) => ({ held, drawn: this.#random.next() }));
    this.#held = [];
    const complete = shares.filter(({ drawn }) => drawn < completeShare);
    const abandon = shares.filter(
      ({ drawn }) => drawn >= completeShare && drawn < completeShare + abandonShare,
    );
    for (const { held } of complete) this.#known.set(held.id, 'possiblyCompleted');
    for (const queue of new Set(shares.map(({ held }) => held.queue))) {
      const ofQueue = (list: typeof shares) =>
        list.map(({ held }) => held).filter((held) => held.queue === queue);
      const completed = await this.#settleAll(queue, ofQueue(complete), 'complete');
      for (const { id } of completed) this.#known.set(id, 'completed');
      await this.#settleAll(queue, ofQueue(abandon), 'abandon');
    }
  }

  async #settleAll(queue: string, held: readonly Held[], outcome: 'complete' | 'abandon') {
    if (held.length === 0) return [];
    const tokens = held.map(({ lockToken }) => lockToken);
    const settled = await this.#client.settle(queue, tokens, outcome);
    assert.deepEqual(settled, tokens, 'a lock survives the server that granted it');
    return held;
  }

  /** Expires all locks, also those of receives that got no answer. */
  async expireLocks(): Promise<void> {
    this.#held = [];
    this.#aheadSeconds += LOCK_SECONDS + 1;
    await this.#client.advance(LOCK_SECONDS + 1);
  }

  /** Completes all remaining messages, and checks that none is lost, revived or unknown. */
  async finish(queues: readonly string[]): Promise<void> {
    await this.expireLocks();
    for (const queue of queues) {
      while ((await this.receive(queue, 10)) > 0) await this.settle(1, 0);
    }
    const lost = [...this.#known].filter(([, known]) => known === 'sent' || known === 'unsent');
    assert.deepEqual(lost, [], 'lost although acknowledged');
    await this.expireLocks();
    for (const queue of queues) assert.equal(await this.receive(queue, 10), 0);
    const unseen = [...this.#known].filter(
      ([id, known]) => known !== 'possiblySent' && !this.#seen.has(id),
    );
    assert.deepEqual(unseen, [], 'never received');
  }
}
