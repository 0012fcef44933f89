import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ENGINE_KINDS, type EngineKind, findRecipe } from '../../local/engine/engine-recipes.ts';
import { isMore } from '../runner/more.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { temporaryDirectory } from './cli.ts';
import { type CorpusDocument, generateCorpus, readCorpus } from './corpus.ts';
import { DurabilityRun } from './durability-run.ts';

/**
 * The server of `npm start` is killed again and again during its work, over one data directory. The same seed
 * repeats documents, steps and kills. `DYNABUS_CORPUS` names a file of further documents, one per line.
 */

const SEED = seedOfRun();
/** The number of kills during a step. */
const INTERRUPTIONS = isMore() ? 2 : 1;
const KINDS = ['send', 'receive', 'settle'] as const;
/** There is also a kill right after the answer to each of these kinds of steps. */
const KINDS_KILLED: Readonly<Record<EngineKind, readonly (typeof KINDS)[number][]>> = isMore()
  ? { 'dynamodb-local': KINDS, dynoxide: KINDS }
  : { 'dynamodb-local': ['send'], dynoxide: ['receive', 'settle'] };
const BATCH_BYTES_MAX = 1024 * 1024;
const BATCH_DOCUMENTS_MAX = 20;
/** The part of the size limit for a document's MessageId and properties. */
const PROPERTIES_BYTES = 256;
const { DYNABUS_CORPUS: CORPUS, DYNABUS_ENGINE: ENGINE } = process.env;

/** Queues by message size limit, in KB. `setting` is undefined for the default limit. */
const QUEUES = [
  { name: 'small', kilobytes: 1024, setting: undefined },
  { name: 'large', kilobytes: 1536, setting: 1536 },
  { name: 'huge', kilobytes: 2048, setting: 2048 },
] as const;
const NAMES = ['small', 'large', 'huge'] as const;

for (const engine of ENGINE_KINDS.filter((kind) => (ENGINE || kind) === kind)) {
  const found = findRecipe[engine]();
  const skip = 'missing' in found ? found.missing : false;

  test(`kill -9 loses and revives no message: ${engine} (seed ${SEED})`, { skip }, (t) =>
    survive(t, engine, generateCorpus(SEED)),
  );

  if (CORPUS) {
    test(
      `kill -9 loses and revives no document of the corpus: ${engine} (seed ${SEED})`,
      { skip },
      (t) => survive(t, engine, readCorpus(CORPUS)),
    );
  }
}

async function survive(t: TestContext, engine: EngineKind, documents: readonly CorpusDocument[]) {
  const random = new LoadRandom(`${SEED}:${engine}`);
  // Premium allows large messages.
  const args = ['--engine', engine, '--data', temporaryDirectory(t), '--tier', 'premium'];
  const run = new DurabilityRun(t, args, { documents, random });
  await run.start();
  for (const { name, setting } of QUEUES) await run.client.createQueue(name, setting);
  await assertRefusals(run, documents);

  const steps = stepsOf(run, documents, random);
  const kills = chooseKills(engine, steps, random);
  for (const [number, { act }] of steps.entries()) {
    const kill = kills.get(number);
    const withEngine = random.chance(0.5);
    if (kill === 'during') await interrupt(act, random, () => run.kill({ withEngine }));
    else await act();
    if (kill === 'after') await run.kill({ withEngine });
    if (kill !== undefined) await run.start();
  }
  await run.finish(NAMES);
}

/** Kills the server during a step, whose requests may get an answer or not. */
async function interrupt(step: () => Promise<void>, random: LoadRandom, kill: () => Promise<void>) {
  const outcome = step().then(
    () => undefined,
    (error: unknown) => error,
  );
  await new Promise((resolve) => setTimeout(resolve, random.below(25)));
  await kill();
  const error = await outcome;
  // These are fetch's errors for a server that has ended; any other error is a fault of the server.
  const hasEnded = error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);
  if (error !== undefined && !hasEnded) throw error;
}

/** Checks that every queue with too small a limit refuses a document, and says why. */
async function assertRefusals(run: DurabilityRun, documents: readonly CorpusDocument[]) {
  for (const document of documents) {
    for (const { name, kilobytes } of QUEUES) {
      if (document.bytes <= kilobytes * 1024) break;
      const { status, text } = await run.client.sendOne(name, document);
      assert.equal(status, 403, text);
      assert.match(text, new RegExp(`more than the ${kilobytes * 1024} bytes`));
    }
  }
}

interface Step {
  readonly kind: (typeof KINDS)[number] | 'wait';
  readonly act: () => Promise<void>;
}

/** Chooses the steps at which the server is killed, and whether during or after the step. */
function chooseKills(engine: EngineKind, steps: readonly Step[], random: LoadRandom) {
  const order = random.order(steps.length);
  const kills = new Map<number, 'during' | 'after'>();
  for (const kind of KINDS_KILLED[engine]) {
    const number = order.find((step) => steps[step]?.kind === kind);
    if (number !== undefined) kills.set(number, 'after');
  }
  const others = order.filter((step) => !kills.has(step)).slice(0, INTERRUPTIONS);
  for (const number of others) kills.set(number, 'during');
  return kills;
}

/** Sends of all documents, with receives and settlements between them. */
function stepsOf(run: DurabilityRun, documents: readonly CorpusDocument[], random: LoadRandom) {
  return batchesOf(documents, random).flatMap(({ queue, batch }): readonly Step[] => [
    { kind: 'send', act: () => run.send(queue, batch) },
    { kind: 'receive', act: () => receiveSome(run, random) },
    ...(random.chance(0.7) ? [{ kind: 'settle' as const, act: () => run.settle(0.5, 0.2) }] : []),
    ...(random.chance(0.2) ? [{ kind: 'wait' as const, act: () => run.expireLocks() }] : []),
  ]);
}

async function receiveSome(run: DurabilityRun, random: LoadRandom): Promise<void> {
  for (const place of random.order(NAMES.length)) {
    const came = await run.receive(NAMES[place] ?? NAMES[0], random.pick([1, 2, 10, 30]));
    if (came > 0) return;
  }
}

function batchesOf(documents: readonly CorpusDocument[], random: LoadRandom) {
  const batches: { queue: string; batch: CorpusDocument[] }[] = [];
  for (const { name } of QUEUES) {
    const ofQueue = documents.filter((document) => queueOf(document) === name);
    let batch: CorpusDocument[] = [];
    let bytes = 0;
    let countMax = random.between(1, BATCH_DOCUMENTS_MAX);
    for (const document of ofQueue) {
      const size = document.bytes + PROPERTIES_BYTES;
      if (batch.length > 0 && (bytes + size > BATCH_BYTES_MAX || batch.length >= countMax)) {
        batches.push({ queue: name, batch });
        batch = [];
        bytes = 0;
        countMax = random.between(1, BATCH_DOCUMENTS_MAX);
      }
      batch.push(document);
      bytes += size;
    }
    if (batch.length > 0) batches.push({ queue: name, batch });
  }
  return random.order(batches.length).flatMap((place) => batches[place] ?? []);
}

/** The first queue whose limit is large enough. */
function queueOf({ id, bytes }: CorpusDocument): string {
  const queue = QUEUES.find(({ kilobytes }) => bytes + PROPERTIES_BYTES <= kilobytes * 1024);
  assert.ok(queue, `${id} is larger than the limit of every queue`);
  return queue.name;
}
