import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { LoadRandom } from '../support/load-random.ts';
import { type Cli, descendants, startNamespaceCli, untilGone } from './cli.ts';
import type { CorpusDocument } from './corpus.ts';
import { DurabilityClient, type ReceivedDocument } from './durability-client.ts';

/** What a client knows of a document after all that it was told. */
type Knowledge =
  | 'unsent'
  /** The send got no answer: it may be there or not. */
  | 'perhapsSent'
  | 'sent'
  /** The completion got no answer: it may be gone or not. */
  | 'perhapsCompleted'
  | 'completed';

interface Held extends ReceivedDocument {
  readonly queue: string;
}

/** Long, so that no lock runs out by itself while servers come and go. */
const LOCK_SECONDS = 300;

/**
 * A client of a server that is killed now and then: it keeps books of what was acknowledged, and
 * holds every answer against them.
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
  /** Known beforehand, so that a kill follows upon an answer at once. */
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

  /** Starts the server on the data of the one before. Its clock is where the other's was, or ahead. */
  async start(): Promise<void> {
    const cli = await startNamespaceCli(this.#t, { args: this.#args });
    this.#cli = cli;
    this.#below = descendants(cli.child.pid);
    this.#client = new DurabilityClient(cli.url);
    if (this.#aheadSeconds > 0) await this.#client.advance(this.#aheadSeconds);
  }

  /** `kill -9` of the server; of its engine too where that is asked for, as if the power failed. */
  async kill({ withEngine }: { withEngine: boolean }): Promise<void> {
    const cli = this.#cli;
    assert.ok(cli, 'a server runs');
    // The server first, lest it answer that its engine is gone; then the guard, lest it end that in order.
    cli.child.kill('SIGKILL');
    if (withEngine) for (const pid of this.#below) process.kill(pid, 'SIGKILL');
    await cli.ended;
    await untilGone(this.#below);
  }

  /** Sends a batch. */
  async send(queue: string, documents: readonly CorpusDocument[]): Promise<void> {
    for (const { id } of documents) this.#known.set(id, 'perhapsSent');
    await this.#client.sendBatch(queue, documents);
    for (const { id } of documents) this.#known.set(id, 'sent');
  }

  /** Receives, one or many. Resolves with how many came. */
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
    assert.ok(Buffer.from(document.text).equals(bytes), `${id} came out with other bytes`);
    const known = this.#known.get(id);
    assert.notEqual(known, 'unsent', `${id} came before it was sent`);
    assert.notEqual(known, 'completed', `${id} came back although it was completed`);
    // What is there now was neither lost on its way in, nor gone by an unanswered completion.
    this.#known.set(id, 'sent');
    this.#seen.add(id);
  }

  /** Settles a share of what is held; what is left out waits for its lock to run out. */
  async settle(completeShare: number, abandonShare: number): Promise<void> {
    const shares = this.#held.map((held) => ({ held, drawn: this.#random.next() }));
    this.#held = [];
    const complete = shares.filter(({ drawn }) => drawn < completeShare);
    const abandon = shares.filter(
      ({ drawn }) => drawn >= completeShare && drawn < completeShare + abandonShare,
    );
    for (const { held } of complete) this.#known.set(held.id, 'perhapsCompleted');
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
    assert.deepEqual(settled, tokens, 'a lock outlives the server that gave it');
    return held;
  }

  /** Lets all locks run out, those of requests without an answer too. */
  async letLocksRunOut(): Promise<void> {
    this.#held = [];
    this.#aheadSeconds += LOCK_SECONDS + 1;
    await this.#client.advance(LOCK_SECONDS + 1);
  }

  /** Completes all that is left, and checks that everything is accounted for. */
  async finish(queues: readonly string[]): Promise<void> {
    await this.letLocksRunOut();
    for (const queue of queues) {
      while ((await this.receive(queue, 10)) > 0) await this.settle(1, 0);
    }
    const lost = [...this.#known].filter(([, known]) => known === 'sent' || known === 'unsent');
    assert.deepEqual(lost, [], 'acknowledged, and yet gone');
    await this.letLocksRunOut();
    for (const queue of queues) assert.equal(await this.receive(queue, 10), 0);
    const unseen = [...this.#known].filter(
      ([id, known]) => known !== 'perhapsSent' && !this.#seen.has(id),
    );
    assert.deepEqual(unseen, [], 'never came out');
  }
}
