import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MINUTE_MS } from '../../../shared/domain/units.ts';
import { isMore } from '../../runner/more.ts';
import { directNetwork, simulatedClients } from '../../simulation/tables/client.ts';
import { SimulatedDatabase } from '../../simulation/tables/database.ts';
import { type Declaring, startDeclaring } from './declaring.ts';
import { type Answer, type FakeStack, queue, type TemplateResource } from './stack.ts';

/** Two stacks and somebody who works by hand, on few names, in any order: no message is lost that should stay. */

const NAMES = ['x', 'y', 'z'] as const;
const STACKS = ['one', 'two'] as const;
const STEPS_MAX = 30;
const RUNS = isMore() ? 5000 : 500;
/** Lambda repeats no event that is older, as `Broker` sets it. */
const EVENT_AGE_MAX_MS = 15 * MINUTE_MS;

type Name = (typeof NAMES)[number];
type StackName = (typeof STACKS)[number];

interface Declared {
  readonly id: string;
  readonly name: Name;
  readonly count: number;
  readonly isRetained: boolean;
  readonly adopts: boolean;
  readonly adoptsOther: boolean;
}

type Step =
  | {
      readonly kind: 'deploy';
      readonly stack: StackName;
      readonly resources: readonly Declared[];
      /** After so many resources, one cannot be made. */
      readonly brokenAt: number | undefined;
    }
  | { readonly kind: 'make' | 'remove'; readonly name: Name }
  /** The stack is deleted, all that it has retained, and begins anew. */
  | { readonly kind: 'leave'; readonly stack: StackName }
  /** A creation is cancelled before the function hears of it. */
  | { readonly kind: 'cancel'; readonly stack: StackName; readonly resource: Declared }
  /** Lambda repeats an event, so many before the last one. */
  | { readonly kind: 'repeat'; readonly back: number }
  | { readonly kind: 'wait'; readonly hours: number };

/** An event, when it was answered, epoch ms, and how. */
interface Answered {
  readonly event: Parameters<Answer>[0];
  readonly at: number;
  readonly isSuccess: boolean;
}

const name = fc.constantFrom(...NAMES);
const stack = fc.constantFrom(...STACKS);
const declared = fc.record({
  id: fc.constantFrom('A', 'B', 'C'),
  name,
  count: fc.integer({ min: 1, max: 3 }),
  isRetained: fc.boolean(),
  adopts: fc.boolean(),
  adoptsOther: fc.boolean(),
});
const resources = fc
  .uniqueArray(declared, { selector: ({ id }) => id, maxLength: 3 })
  .map((all) => all.filter((one, i) => all.findIndex((other) => other.name === one.name) === i));
const brokenAt = fc.option(fc.nat(3), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(stack, resources, brokenAt)
      .map(
        ([one, all, at]): Step => ({ kind: 'deploy', stack: one, resources: all, brokenAt: at }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('make' as const, 'remove' as const), name)
      .map(([kind, one]): Step => ({ kind, name: one })),
  },
  { weight: 1, arbitrary: stack.map((one): Step => ({ kind: 'leave', stack: one })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0.2, 1, 25).map((hours): Step => ({ kind: 'wait', hours })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(stack, declared)
      .map(([one, resource]): Step => ({ kind: 'cancel', stack: one, resource })),
  },
  { weight: 1, arbitrary: fc.nat(3).map((back): Step => ({ kind: 'repeat', back })) },
);

test('whatever stacks declare, adopt, retain and fail at, no entity is lost', async (t) => {
  const steps = fc.array(step, { minLength: 1, maxLength: STEPS_MAX, size: 'max' });
  const run = async (all: readonly Step[]) => {
    const settings = { now: () => 0, random: () => 0, throttles: false, staleMsMax: 0 };
    const simulated = simulatedClients(new SimulatedDatabase(settings), directNetwork);
    await new World(await startDeclaring(t, { simulated })).run(all);
  };
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: RUNS });
});

class World {
  readonly #declaring: Declaring;
  readonly #stacks = new Map<StackName, FakeStack>();
  /** Ids of entities that were made by hand. */
  readonly #byHand = new Set<string>();

  /** Answers events of both stacks, and remembers them. */
  readonly #answer: Answer;
  readonly #events: Answered[] = [];

  constructor(declaring: Declaring) {
    this.#declaring = declaring;
    this.#answer = async (event) => {
      const at = declaring.clock.now();
      const answer = await declaring.answer(event);
      this.#events.push({ event, at, isSuccess: answer.Status === 'SUCCESS' });
      return answer;
    };
    for (const one of STACKS) this.#stacks.set(one, declaring.stack(one, this.#answer));
  }

  async run(steps: readonly Step[]): Promise<void> {
    const { management, clock } = this.#declaring;
    for (const one of steps) {
      switch (one.kind) {
        case 'deploy':
          await this.#deploy(one);
          break;
        case 'make':
          // What is made under the name of a resource that a stack has counts as the stack's.
          if ((await this.#ids()).has(one.name) || this.#isKnown(one.name)) break;
          this.#byHand.add((await management.create(one.name, { kind: 'queue' })).id);
          break;
        case 'remove':
          if ((await this.#ids()).has(one.name)) await management.delete(one.name);
          break;
        case 'leave':
          this.#stacks.set(one.stack, this.#declaring.stack(one.stack, this.#answer));
          break;
        case 'cancel':
          await this.#cancel(one);
          break;
        case 'repeat':
          await this.#repeat(one.back);
          break;
        case 'wait':
          clock.advance({ hours: one.hours });
      }
    }
  }

  async #deploy({ stack: stackName, resources: wanted, brokenAt }: Step & { kind: 'deploy' }) {
    const own = this.#stacks.get(stackName);
    const other = this.#stacks.get(stackName === 'one' ? 'two' : 'one');
    assert.ok(own !== undefined && other !== undefined);
    const before = await this.#ids();
    const known = new Set(Object.values(own.physicalIds));
    const others = new Set(Object.values(other.physicalIds));
    // What was deleted by hand is free after a while; the stack that still has it is not to blame for its rollback.
    const possible = wanted.filter((one) => before.has(one.name) || !others.has(one.name));
    const reason = await own.deploy(templateOf(possible, brokenAt, stackName, others));
    const after = await this.#ids();
    const isFailed = reason !== undefined;
    for (const [one, id] of before) {
      const mayGo =
        !isFailed &&
        known.has(one) &&
        !this.#byHand.has(id) &&
        !Object.values(own.physicalIds).includes(one);
      if (!mayGo) assert.equal(after.get(one), id, `${one} is another one, or gone`);
    }
    for (const one of after.keys()) {
      const isMade = before.has(one) || !isFailed || known.has(one);
      assert.ok(isMade, `${one} was made by a deployment that failed`);
    }
    for (const one of Object.values(own.physicalIds)) {
      // What was deleted by hand is not made anew as long as its template is the same.
      const isSent = before.has(one) || !known.has(one);
      if (!isFailed && isSent) assert.ok(after.has(one), `${one} was not made`);
    }
    for (const one of others) {
      if (before.has(one)) assert.equal(after.get(one), before.get(one), `${one} is the other's`);
    }
  }

  async #cancel({ stack: stackName, resource }: Step & { kind: 'cancel' }): Promise<void> {
    const { id, name: queueName, count } = resource;
    const one = this.#stacks.get(stackName);
    if (one === undefined || id in one.physicalIds) return;
    const before = await this.#ids();
    await one.cancel(id, queue(queueName, { maxDeliveryCount: count }));
    assert.deepEqual(await this.#ids(), before, 'a cancelled creation deletes nothing');
  }

  async #repeat(back: number): Promise<void> {
    const { answer, clock } = this.#declaring;
    const repeated = this.#events.at(-1 - back);
    if (repeated === undefined || clock.now() - repeated.at > EVENT_AGE_MAX_MS) return;
    const before = await this.#ids();
    await answer(repeated.event);
    const after = await this.#ids();
    for (const [one, id] of before) assert.equal(after.get(one), id, `${one} is gone`);
    // What an event made that succeeded is made again if it was deleted by hand.
    if (!repeated.isSuccess) assert.deepEqual(after, before, 'an event that failed has an effect');
  }

  #isKnown(queueName: Name): boolean {
    return [...this.#stacks.values()].some(({ physicalIds }) =>
      Object.values(physicalIds).includes(queueName),
    );
  }

  /** The ids of entities by their names. */
  async #ids(): Promise<ReadonlyMap<string, string>> {
    const { management } = this.#declaring;
    const found = await Promise.all(
      NAMES.map(async (one) => [one, await management.get(one).catch(() => undefined)] as const),
    );
    return new Map(found.flatMap(([one, entity]) => (entity ? [[one, entity.id]] : [])));
  }
}

function templateOf(
  wanted: readonly Declared[],
  brokenAt: number | undefined,
  stackName: StackName,
  others: ReadonlySet<string>,
): Readonly<Record<string, TemplateResource>> {
  const entries = wanted.map(({ id, name: queueName, count, isRetained, adopts, adoptsOther }) => {
    const takes = adoptsOther && !others.has(queueName);
    const more = {
      ...(adopts && { Adopt: 'true' }),
      ...(takes && { AdoptFrom: stackName === 'one' ? 'two' : 'one' }),
    };
    const resource: TemplateResource = queue(queueName, { maxDeliveryCount: count }, more);
    return [id, isRetained ? { ...resource, policy: 'retain' as const } : resource] as const;
  });
  const broken = [['Broken', queue('broken', { forwardTo: 'nowhere' })]] as const;
  const at = brokenAt ?? entries.length;
  const all = [
    ...entries.slice(0, at),
    ...(brokenAt === undefined ? [] : broken),
    ...entries.slice(at),
  ];
  return Object.fromEntries(all);
}
