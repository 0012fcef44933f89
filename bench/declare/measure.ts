import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { answerEvent } from '../../lambdas/declare/cloud-formation.ts';
import type { DeclareDependencies } from '../../lambdas/declare/dependencies.ts';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { startEngine } from '../../local/engine/engine.ts';
import { ensureTables } from '../../local/tables.ts';
import { composeDeclarations } from '../../shared/app/compose-declarations.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import {
  FakeStack,
  queue,
  subscription,
  type TemplateResource,
  topic,
} from '../../test/cdk/declare/stack.ts';

/** How a stack of many entities is deployed and deleted. */
export interface DeclareRow {
  /** How many resources CloudFormation works on at once: a guess. */
  readonly width: number;
  /** What CloudFormation itself takes for a resource, beside the function, ms: a guess. */
  readonly overheadMs: number;
  readonly createSeconds: number;
  readonly deleteSeconds: number;
}

/** What the creation and the deletion of one entity takes, on average over all of one kind. */
export interface DeclaredCost {
  readonly what: string;
  readonly count: number;
  readonly read: number;
  readonly write: number;
  readonly requests: number;
}

/** The results of the benchmark of declared entities. */
export interface DeclareSection {
  readonly rows: readonly DeclareRow[];
  readonly costs: readonly DeclaredCost[];
}

const COUNTS = {
  full: { queues: 200, topics: 20, subscriptions: 4 },
  quick: { queues: 20, topics: 4, subscriptions: 2 },
} as const;
const PLACES = [
  { width: 40, overheadMs: 0 },
  { width: 40, overheadMs: 1000 },
  { width: 10, overheadMs: 1000 },
] as const;
const PROCESSES = 4;
const TABLES = { entities: 'declare-entities', messages: 'declare-messages' } as const;
const RULES = { large: 'Quantity > 100', small: 'Quantity < 10' };

type Kind = 'queue' | 'topic' | 'subscription with 2 rules';

interface Resource {
  readonly kind: Kind;
  readonly resource: TemplateResource;
  /** A stack of this resource alone, which has the name of the whole one. */
  readonly stack: FakeStack;
}

/** A resource to work on once others are done. */
interface Step {
  readonly of: Resource;
  readonly after: readonly Resource[];
}

/** How CloudFormation works on a stack. */
type Place = Pick<DeclareRow, 'width' | 'overheadMs'>;

/** Deploys and deletes stacks of many entities, by several processes of the function. Takes some minutes. */
export async function measureDeclarations(
  kind: string | undefined,
  isQuick: boolean,
): Promise<DeclareSection> {
  const engine = await startEngine({ kind });
  const client = createDynamoClient(engine.endpoint);
  try {
    await ensureTables(client, TABLES);
    const rows: DeclareRow[] = [];
    let costs: readonly DeclaredCost[] = [];
    for (const place of PLACES) {
      console.log(`Declared entities, ${place.width} at once`);
      const whole = new WholeStack(client, COUNTS[isQuick ? 'quick' : 'full']);
      const createSeconds = await whole.create(place);
      const created = whole.costs('create');
      const deleteSeconds = await whole.delete(place);
      rows.push({ ...place, createSeconds, deleteSeconds });
      if (costs.length === 0) costs = [...created, ...whole.costs('delete')];
    }
    return { rows, costs };
  } finally {
    client.destroy();
    await engine.stop();
  }
}

/** A stack of many entities in a namespace of its own. */
class WholeStack {
  readonly #client: DynamoDBClient;
  readonly #namespace = `declare-${randomBytes(6).toString('hex')}`;
  readonly #meters: Readonly<Record<Kind, UnitMeter>> = {
    queue: new UnitMeter(),
    topic: new UnitMeter(),
    'subscription with 2 rules': new UnitMeter(),
  };
  readonly #topics: readonly { readonly topic: Resource; readonly subscriptions: Resource[] }[];
  readonly #queues: readonly Resource[];

  constructor(
    client: DynamoDBClient,
    counts: Readonly<Record<'queues' | 'topics' | 'subscriptions', number>>,
  ) {
    this.#client = client;
    const processes = Array.from({ length: PROCESSES }, () => this.#processes());
    let made = 0;
    const resource = (kind: Kind, one: TemplateResource): Resource => {
      const dependencies = processes[made++ % PROCESSES]?.[kind];
      if (dependencies === undefined) throw new Error('There is a process.');
      const stack = new FakeStack('bench', (event) => answerEvent(dependencies, event));
      return { kind, resource: one, stack };
    };
    this.#topics = times(counts.topics, (t) => ({
      topic: resource('topic', topic(`topic-${t}`)),
      subscriptions: times(counts.subscriptions, (s) => {
        const path = `topic-${t}/Subscriptions/subscription-${s}`;
        return resource('subscription with 2 rules', subscription(path, { rules: RULES }));
      }),
    }));
    this.#queues = times(counts.queues, (q) => resource('queue', queue(`queue-${q}`)));
  }

  /** Creates topics before their subscriptions. Returns the seconds. */
  async create(place: Place): Promise<number> {
    const children = this.#topics.flatMap(({ topic: one, subscriptions }) =>
      subscriptions.map((of) => ({ of, after: [one] })),
    );
    const steps = [...this.#topics.map((one) => one.topic), ...this.#queues].map(atOnce);
    return await work([...steps, ...children], place, async ({ resource, stack }) => {
      return await stack.deploy({ Entity: resource });
    });
  }

  /** Deletes subscriptions before their topics. Returns the seconds. */
  async delete(place: Place): Promise<number> {
    const children = this.#topics.flatMap(({ subscriptions }) => subscriptions.map(atOnce));
    const topics = this.#topics.map((one) => ({ of: one.topic, after: one.subscriptions }));
    return await work([...children, ...topics, ...this.#queues.map(atOnce)], place, ({ stack }) =>
      stack.deploy({}),
    );
  }

  /** What was counted since the last call, for each entity of each kind. */
  costs(verb: string): readonly DeclaredCost[] {
    const all = [...this.#topics.flatMap((one) => [one.topic, ...one.subscriptions])];
    return (Object.keys(this.#meters) as Kind[]).map((kind) => {
      const count = [...all, ...this.#queues].filter((one) => one.kind === kind).length;
      const { read, write, requests } = this.#meters[kind].take();
      const of = (sum: number) => sum / count;
      return {
        what: `${verb} a ${kind}`,
        count,
        ...{ read: of(read), write: of(write), requests: of(requests) },
      };
    });
  }

  /** What one process works with, separately for each kind, so that its units are counted. */
  #processes(): Readonly<Record<Kind, DeclareDependencies>> {
    const processOf = (kind: Kind): DeclareDependencies => {
      const clock = { now: () => Date.now() };
      const composed = composeDeclarations({
        client: this.#client,
        tables: TABLES,
        namespace: this.#namespace,
        tier: 'Standard',
        clock,
        random: realRandom,
        leaseMs: LEASE_MS.deployed,
        meter: this.#meters[kind],
      });
      const parameters = { put: async () => {}, remove: async () => {} };
      return { ...composed, clock, random: realRandom, scheduler: realScheduler, parameters };
    };
    return {
      queue: processOf('queue'),
      topic: processOf('topic'),
      'subscription with 2 rules': processOf('subscription with 2 rules'),
    };
  }
}

/** Does all steps, each once those are done that it is after. Returns the seconds. Throws Error if one fails. */
async function work(
  steps: readonly Step[],
  { width, overheadMs }: Place,
  deploy: (one: Resource) => Promise<string | undefined>,
): Promise<number> {
  const begin = performance.now();
  const done = new Set<Resource>();
  const waiting = new Set(steps);
  const working = new Set<Promise<void>>();
  const workOn = async (one: Resource) => {
    const reason = await deploy(one);
    if (reason !== undefined) throw new Error(reason);
    await delay(overheadMs);
    done.add(one);
  };
  while (done.size < steps.length) {
    const ready = [...waiting].find(({ after }) => after.every((one) => done.has(one)));
    if (ready === undefined || working.size === width) {
      await Promise.race(working);
      continue;
    }
    waiting.delete(ready);
    const under: Promise<void> = workOn(ready.of).finally(() => working.delete(under));
    working.add(under);
  }
  return (performance.now() - begin) / 1000;
}

function atOnce(of: Resource): Step {
  return { of, after: [] };
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
