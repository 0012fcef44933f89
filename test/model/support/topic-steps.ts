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
  PLACES,
  type Place,
  STATUSES,
  type Status,
  type TopicModel,
  type TransferPlace,
} from './topic-model.ts';

/** More messages than any history sends. */
const ALL = 250;
/** High enough that no message is dead-lettered for it. */
const MANY_DELIVERIES = '1000';

/** The topic, its subscriptions and the queues they forward to. */
export class TopicFixture {
  readonly broker: TestBroker;
  readonly #name: string;

  constructor(broker: TestBroker, name: string) {
    this.broker = broker;
    this.#name = name;
  }

  get #end(): Record<string, string> {
    return { LockDuration: `PT${LOCK_MS / 1000}S`, MaxDeliveryCount: MANY_DELIVERIES };
  }

  /** The path from which messages of a place are received. */
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

type TopicStep = AsyncCommand<TopicModel, TopicFixture>;

/** A step with a name, which does the same on model and bus and returns the outcome. */
function step(
  name: string,
  check: (model: TopicModel) => boolean,
  run: (model: TopicModel, fixture: TopicFixture) => Promise<string>,
): TopicStep {
  return {
    check,
    run: async (model, fixture) => {
      const place = model.history.push(`${name} …`) - 1;
      model.history[place] = `${name}: ${await run(model, fixture)}`;
    },
    toString: () => name,
  };
}

function send(drafts: readonly Draft[]): TopicStep {
  const names = drafts.map(({ color, size }) => `${color} ${size}`).join(', ');
  return step(
    `send(${names})`,
    () => true,
    async (model, fixture) => {
      const bodies = model.send(drafts);
      await fixture.send(bodies, drafts);
      return bodies.join(' ');
    },
  );
}

function receive(place: LivePlace, maxMessages: number): TopicStep {
  return step(
    `receive(${place} ${maxMessages})`,
    (model) => model.canReceive(place),
    async (model, fixture) => {
      const received = await fixture.broker.peekLockMany(fixture.path(place), maxMessages);
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
    (model) => model.held.some(({ place }) => model.canReceive(place)),
    async (model, fixture) => {
      const held = pickMany(
        model.held.filter(({ place }) => model.canReceive(place)),
        drawn,
      );
      const places = [...new Set(held.map(({ place }) => place))];
      const outcomes: string[] = [];
      for (const place of places) {
        // One call settles the messages of a block together, in their order.
        const here = held
          .filter((one) => one.place === place)
          .toSorted((a, b) => a.copy.number - b.copy.number);
        const settlements = here.map(({ lockToken }) => ({ lockToken, outcome }));
        const answers = await fixture.broker.settle(fixture.path(place), settlements);
        const expected = here.map((one) => model.settle(one, outcome));
        assert.deepEqual(
          answers.map(({ settled }) => settled),
          expected,
        );
        outcomes.push(...here.map(({ copy }, i) => `${copy.body} ${expected[i]}`));
      }
      return outcomes.join(', ');
    },
  );
}

function update(status: Status): TopicStep {
  return step(
    `end(${status})`,
    () => true,
    async (model, fixture) => {
      await fixture.update(status);
      model.update(status);
      return 'done';
    },
  );
}

function clear(place: Place): TopicStep {
  return step(
    `clear(${place})`,
    (model) => model.canReceive(place),
    async (model, fixture) => {
      const received = await fixture.broker.receiveAndDeleteMany(fixture.path(place), ALL);
      const expected = bodiesOf(model.at(place));
      assert.deepEqual(bodiesOf(received).toSorted(), expected.toSorted());
      model.clear(place);
      return expected.join(' ');
    },
  );
}

function resubmit(place: TransferPlace): TopicStep {
  return step(
    `resubmit(${place})`,
    ({ endAcceptsSends }) => endAcceptsSends,
    async (model, fixture) => {
      const count = model.at(place).length;
      assert.equal(await fixture.broker.resubmit(fixture.path(place)), count);
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

/** Checks that the copies at every place are exactly the expected ones. */
export async function lookAtAll(model: TopicModel, fixture: TopicFixture): Promise<string> {
  for (const place of PLACES) {
    if (!model.canReceive(place)) continue;
    const shown = bodiesOf(await fixture.broker.peek(fixture.path(place)));
    const expected = bodiesOf(model.at(place));
    // In dead-letter queues messages keep the numbers of their earlier entity.
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

/** All steps; sends and receives are listed twice to be drawn more often. */
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
