import { randomBytes } from 'node:crypto';
import { type BodySet, intoCalls } from './bodies.ts';
import { type CountingNamespace, cycle, type OperationCost, perMessage } from './counted-units.ts';
import { type BenchClient, type Lock, prepareSend } from './http-client.ts';

/** The numbers of subscriptions of the measured topics. */
export const TOPIC_SIZES = [1, 10, 100, 1000] as const;
/** The numbers of messages that one call publishes. */
export const TOPIC_BATCHES = [1, 100] as const;

/** The cost of one call to a topic, and of its copies. */
export interface TopicCosts {
  /** The whole call. */
  readonly publish: OperationCost;
  /** For each copy. */
  readonly receive: OperationCost;
  /** For each copy. */
  readonly settle: OperationCost;
}

/** A topic and its subscriptions, each with the default rule. */
export interface BenchTopic {
  readonly name: string;
  /** Where the copies are received. */
  readonly subscriptions: readonly string[];
}

/** Copies of at most this number of subscriptions are received and settled. */
export const DRAINED_MAX = 20;
const CREATED_AT_ONCE = 8;
const DRAINED_AT_ONCE = 8;
/** A receive may find nothing because a hint is out of date; no other receiver competes. */
const EMPTY_MAX = 20;

/** Creates a topic with a number of subscriptions, through `subscribe` if HTTP would take too long. */
export async function createTopic(
  http: BenchClient,
  size: number,
  subscribe = (path: string) => http.createSubscription(path),
): Promise<BenchTopic> {
  const name = `t-${randomBytes(6).toString('hex')}`;
  await http.createTopic(name);
  const subscriptions = Array.from({ length: size }, (_, i) => `${name}/subscriptions/s${i}`);
  await inParallel(subscriptions, CREATED_AT_ONCE, subscribe);
  return { name, subscriptions };
}

/**
 * Counts the cost of a call to a topic. Makes each call twice and counts the second one, because a function reads the
 * descriptions of topics and subscriptions every other second, not for each call.
 */
export async function countTopic(
  counting: CountingNamespace,
  topic: BenchTopic,
  { bodies }: BodySet,
  batch: number,
): Promise<TopicCosts> {
  const [call = []] = intoCalls(cycle(bodies, batch), batch);
  const prepared = prepareSend(call, batch > 1);
  const { http, counted, setAddedLatency } = counting;
  const once = async (): Promise<TopicCosts> => {
    const publish = (await counted(() => http.send(topic.name, prepared))).cost;
    return { publish, ...(await drain(counting, topic, batch)) };
  };
  setAddedLatency('none');
  await once();
  setAddedLatency(batch === 1 ? 'single' : 'batch');
  return await once();
}

type Drained = Pick<TopicCosts, 'receive' | 'settle'>;

/**
 * Receives and completes the copies of one call. Counts round trips on the first subscription only: the others
 * receive in parallel, which allows to count units alone.
 */
async function drain(
  { http, counted, setAddedLatency }: CountingNamespace,
  { subscriptions }: BenchTopic,
  batch: number,
): Promise<Drained> {
  const paths = subscriptions.slice(0, DRAINED_MAX);
  const [first, ...others] = paths;
  const costs: { receive: OperationCost[]; settle: OperationCost[] } = { receive: [], settle: [] };
  const pass = async (some: readonly string[], alone: boolean) => {
    const held = new Map<string, readonly Lock[]>();
    const received = await counted(() =>
      inParallel(some, DRAINED_AT_ONCE, async (path) => {
        held.set(path, await receiveAll(http, path, batch));
      }),
    );
    const settled = await counted(() =>
      inParallel([...held], DRAINED_AT_ONCE, ([path, locks]) => http.complete(path, locks)),
    );
    costs.receive.push(alone ? received.cost : withoutRoundTrips(received.cost));
    costs.settle.push(alone ? settled.cost : withoutRoundTrips(settled.cost));
  };
  if (first !== undefined) await pass([first], true);
  setAddedLatency('none');
  if (others.length > 0) await pass(others, false);
  const copies = paths.length * batch;
  return {
    receive: perMessage(costs.receive, copies),
    settle: perMessage(costs.settle, copies),
  };
}

async function receiveAll(
  http: BenchClient,
  path: string,
  count: number,
): Promise<readonly Lock[]> {
  const held: Lock[] = [];
  let empty = 0;
  while (held.length < count) {
    const { locks } = await http.receive(path, count === 1 ? 1 : count - held.length);
    held.push(...locks);
    if (locks.length === 0 && ++empty > EMPTY_MAX) {
      throw new Error(`Only ${held.length} of ${count} copies came to ${path}.`);
    }
  }
  return held;
}

function withoutRoundTrips(cost: OperationCost): OperationCost {
  return { ...cost, roundTrips: 0 };
}

async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = all.values();
  const run = async () => {
    for (const one of waiting) await work(one);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}
