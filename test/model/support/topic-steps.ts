import assert from 'node:assert/strict';
import fc, { type AsyncCommand } from 'fast-check';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  correlation,
  createSubscription,
  createTopic,
  deadLettersOf,
  sql,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';
import { pickMany } from './step.ts';
import {
  type Draft,
  type LivePlace,
  LOCK_MS,
  type LostPlace,
  PLACES,
  type Place,
  STATUSES,
  type Status,
  type TopicModel,
} from './topic-model.ts';

/** More than any history sends. */
const ALL = 250;
/** Enough that no message is given up. */
const MANY_DELIVERIES = '1000';

/** The topic, its subscriptions and the queues behind them. */
export class TopicScene {
  readonly broker: TestBroker;
  readonly #name: string;

  constructor(broker: TestBroker, name: string) {
    this.broker = broker;
    this.#name = name;
  }

  get #end(): Record<string, string> {
    return { LockDuration: `PT${LOCK_MS / 1000}S`, MaxDeliveryCount: MANY_DELIVERIES };
  }

  /** Where messages of a place are received. */
  path(place: Place): string {
    const end = `end-${this.#name}`;
    const of = (name: string) => subscription(name, this.#name);
    const paths: Record<Place, string> = {
      all: of('all'),
      red: of('red'),
      end,
      deadOfAll: deadLettersOf(of('all')),
      deadOfEnd: deadLettersOf(end),
      transfersOfMiddle: transfersOf(`middle-${this.#name}`),
      transfersOfRed: transfersOf(of('red')),
    };
    return paths[place];
  }

  async create(): Promise<void> {
    const { broker } = this;
    const end = this.path('end');
    const middle = `middle-${this.#name}`;
    expectStatus(await broker.createQueue(end, this.#end), 201);
    expectStatus(await broker.createQueue(middle, { ForwardTo: end }), 201);
    await createTopic(broker, this.#name);
    await createSubscription(broker, this.path('all'), this.#end);
    const red = { ...this.#end, ForwardDeadLetteredMessagesTo: end };
    await createSubscription(broker, this.path('red'), red, {
      filter: correlation({}, { color: ['string', 'red'] }),
    });
    await createSubscription(
      broker,
      subscription('big', this.#name),
      { ForwardTo: middle },
      { filter: sql('size > 5') },
    );
  }

  async update(status: Status): Promise<void> {
    const settings = { ...this.#end, Status: status };
    expectStatus(await this.broker.updateQueue(this.path('end'), settings), 200);
  }

  async send(bodies: readonly string[], drafts: readonly Draft[]): Promise<void> {
    const messages = bodies.map((Body, i) => ({ Body, UserProperties: { ...drafts[i] } }));
    expectStatus(await this.broker.sendBatch(this.#name, messages), 201);
  }
}

type TopicStep = AsyncCommand<TopicModel, TopicScene>;

/** A step with a name, which does the same to model and bus and returns what came of it. */
function step(
  name: string,
  check: (model: TopicModel) => boolean,
  run: (model: TopicModel, scene: TopicScene) => Promise<string>,
): TopicStep {
  return {
    check,
    run: async (model, scene) => {
      const place = model.history.push(`${name} …`) - 1;
      model.history[place] = `${name}: ${await run(model, scene)}`;
    },
    toString: () => name,
  };
}

function send(drafts: readonly Draft[]): TopicStep {
  const names = drafts.map(({ color, size }) => `${color} ${size}`).join(', ');
  return step(
    `send(${names})`,
    () => true,
    async (model, scene) => {
      const bodies = model.send(drafts);
      await scene.send(bodies, drafts);
      return bodies.join(' ');
    },
  );
}

function receive(place: LivePlace, maxMessages: number): TopicStep {
  return step(
    `receive(${place} ${maxMessages})`,
    (model) => model.gives(place),
    async (model, scene) => {
      const received = await scene.broker.peekLockMany(scene.path(place), maxMessages);
      const expected = model.free(place).slice(0, maxMessages);
      assert.deepEqual(bodiesOf(received), bodiesOf(expected));
      const tokens = received.map(({ broker }) => String(broker.LockToken));
      model.receive(place, expected, tokens);
      return bodiesOf(expected).join(' ');
    },
  );
}

function settle(
  drawn: readonly number[],
  outcome: 'complete' | 'abandon' | 'deadLetter',
): TopicStep {
  return step(
    `${outcome}(${drawn})`,
    (model) => model.held.some(({ place }) => model.gives(place)),
    async (model, scene) => {
      const held = pickMany(
        model.held.filter(({ place }) => model.gives(place)),
        drawn,
      );
      const places = [...new Set(held.map(({ place }) => place))];
      const said: string[] = [];
      for (const place of places) {
        // Of one call, messages of one block go together, in their order.
        const here = held
          .filter((one) => one.place === place)
          .toSorted((a, b) => a.copy.number - b.copy.number);
        const settlements = here.map(({ lockToken }) => ({ lockToken, outcome }));
        const answers = await scene.broker.settle(scene.path(place), settlements);
        const expected = here.map((one) => model.settle(one, outcome));
        assert.deepEqual(
          answers.map(({ settled }) => settled),
          expected,
        );
        said.push(...here.map(({ copy }, i) => `${copy.body} ${expected[i]}`));
      }
      return said.join(', ');
    },
  );
}

function update(status: Status): TopicStep {
  return step(
    `end(${status})`,
    () => true,
    async (model, scene) => {
      await scene.update(status);
      model.update(status);
      return 'done';
    },
  );
}

function clear(place: Place): TopicStep {
  return step(
    `clear(${place})`,
    (model) => model.gives(place),
    async (model, scene) => {
      const received = await scene.broker.receiveAndDeleteMany(scene.path(place), ALL);
      const expected = bodiesOf(model.at(place));
      assert.deepEqual(bodiesOf(received).toSorted(), expected.toSorted());
      model.clear(place);
      return expected.join(' ');
    },
  );
}

function resubmit(place: LostPlace): TopicStep {
  return step(
    `resubmit(${place})`,
    ({ endTakes }) => endTakes,
    async (model, scene) => {
      const count = model.at(place).length;
      assert.equal(await scene.broker.resubmit(scene.path(place)), count);
      model.resubmit(place);
      return String(count);
    },
  );
}

function wait(ms: number): TopicStep {
  return step(
    `wait(${ms})`,
    () => true,
    async (model, { broker }) => {
      broker.clock.advance({ ms });
      model.now += ms;
      return 'done';
    },
  );
}

function sweep(): TopicStep {
  return step(
    'sweep()',
    () => true,
    async (_, { broker }) => {
      await broker.sweep();
      return 'done';
    },
  );
}

function look(): TopicStep {
  return step('look()', () => true, lookAtAll);
}

/** Everything is where it has to be: nothing more, nothing less, nothing twice. */
export async function lookAtAll(model: TopicModel, scene: TopicScene): Promise<string> {
  for (const place of PLACES) {
    if (!model.gives(place)) continue;
    const shown = bodiesOf(await scene.broker.peek(scene.path(place)));
    const expected = bodiesOf(model.at(place));
    // Beside the main queues messages keep the numbers they had elsewhere.
    const isInOrder = place === 'all' || place === 'red' || place === 'end';
    if (isInOrder) assert.deepEqual(shown, expected, place);
    else assert.deepEqual(shown.toSorted(), expected.toSorted(), place);
  }
  return 'as expected';
}

function bodiesOf(list: readonly Pick<Received, 'body'>[]): string[] {
  return list.map(({ body }) => body);
}

const drafts = fc.array(
  fc.record({ color: fc.constantFrom('red', 'blue'), size: fc.nat({ max: 9 }) }),
  { minLength: 1, maxLength: 5 },
);
const places = fc.constantFrom('all', 'red', 'end');
const draws = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 });

/** All steps; those that do more to the way of messages come more often. */
export const topicSteps: fc.Arbitrary<TopicStep>[] = [
  drafts.map(send),
  drafts.map(send),
  fc.tuple(places, fc.integer({ min: 1, max: 6 })).map(([place, max]) => receive(place, max)),
  fc.tuple(places, fc.integer({ min: 1, max: 6 })).map(([place, max]) => receive(place, max)),
  fc
    .tuple(draws, fc.constantFrom('complete', 'abandon', 'deadLetter', 'deadLetter'))
    .map(([drawn, outcome]) => settle(drawn, outcome)),
  fc.constantFrom(...STATUSES).map(update),
  fc.constantFrom('transfersOfMiddle', 'transfersOfRed').map((place) => resubmit(place)),
  fc.constantFrom('deadOfAll', 'deadOfEnd', 'transfersOfMiddle', 'transfersOfRed').map(clear),
  fc.constantFrom(1, LOCK_MS - 1, LOCK_MS).map(wait),
  fc.constant(0).map(sweep),
  fc.constant(0).map(look),
];
