import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NAMESPACE } from '../../lambdas/http/atom/namespaces.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import {
  compareDecimals,
  type Decimal,
  decimalArithmetic,
  encodeDecimal,
} from '../../shared/filters/evaluation/decimal.ts';
import { evaluate } from '../../shared/filters/evaluation/evaluate.ts';
import { inputOf } from '../filters/support.ts';
import { allocatedBytes } from '../support/allocated-bytes.ts';
import { entry } from '../support/atom-client.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';

const random = { bytes: (count: number) => new Uint8Array(count) };

/** The maximum number of conditions of a filter. */
const chain = (condition: string): string =>
  Array.from({ length: Math.floor(1024 / (condition.length + 4)) }, () => condition).join(' OR ');

function run(expression: string, properties: Properties, parameters: Properties = {}): void {
  const resultOf = evaluate({ kind: 'sql', expression, parameters }, inputOf(properties), random);
  assert.notEqual(resultOf, true);
}

/** What an evaluation allocates after the first one, which compiles the filter. */
async function cost(expression: string, properties: Properties, parameters: Properties = {}) {
  run(expression, properties, parameters);
  return await allocatedBytes(() => run(expression, properties, parameters));
}

test('row 10: finding a parameter costs the same, however many a filter has', async () => {
  const parameters = (count: number): Properties =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`NAME${i}`, { type: 'null' }]));
  const few = await cost(chain('@name1=1'), {}, parameters(10));
  const many = await cost(chain('@name1=1'), {}, parameters(10_000));
  assert.ok(many < 2 * few + 20_000, `${many} bytes, ${few} with few parameters`);
});

const decimal = (coefficient: bigint, exponent: number): PropertyValue => {
  const value = encodeDecimal({ coefficient, exponent });
  assert.ok(value !== undefined);
  return { type: 'decimal', value };
};

for (const condition of ['a+b=c', 'a-b=c', 'b-a=c', 'a%b=c', 'b%a=c', 'a<b', 'b>a']) {
  test(`row 10: ${condition} costs the same for decimals that lie far apart`, async () => {
    const c = decimal(5n, 0);
    const near = await cost(chain(condition), { a: decimal(7n, 1), b: decimal(3n, 1), c });
    const far = await cost(chain(condition), { a: decimal(7n, 6100), b: decimal(3n, -6100), c });
    assert.ok(far < 8 * near + 20_000, `${far} bytes, ${near} for near ones`);
  });
}

/** Long-hand arithmetic: every digit, then rounded by the module itself. */
function digitByDigit(operator: '+' | '-' | '%', left: Decimal, right: Decimal) {
  const exponent = Math.min(left.exponent, right.exponent);
  const whole = ({ coefficient, exponent: own }: Decimal) =>
    coefficient * 10n ** BigInt(own - exponent);
  const [a, b] = [whole(left), whole(right)];
  const coefficient = operator === '+' ? a + b : operator === '-' ? a - b : a % b;
  // A multiplication by one only rounds.
  const result = decimalArithmetic(
    '*',
    { coefficient, exponent },
    { coefficient: 1n, exponent: 0 },
  );
  return { result, order: a < b ? -1 : a > b ? 1 : 0 };
}

test('row 10: sums, remainders and comparisons are the same as if each digit had been computed', () => {
  const coefficient = fc.oneof(
    fc.bigInt({ min: -(10n ** 34n) + 1n, max: 10n ** 34n - 1n }),
    fc.constantFrom(0n, 1n, -1n, 5n, -5n, 10n ** 33n, 10n ** 34n - 1n, 5n * 10n ** 32n),
  );
  const exponent = fc.oneof(fc.integer({ min: -150, max: 150 }), fc.constantFrom(-6176, 6111, 0));
  const value = fc.record({ coefficient, exponent });
  fc.assert(
    fc.property(value, value, fc.constantFrom('+', '-', '%'), (left, right, operator) => {
      fc.pre(operator !== '%' || right.coefficient !== 0n);
      const { result, order } = digitByDigit(operator, left, right);
      assert.deepEqual(decimalArithmetic(operator, left, right), result);
      assert.equal(compareDecimals(left, right), order);
    }),
    { numRuns: 3000 },
  );
});

const text = (value: string): PropertyValue => ({ type: 'string', value });

test('row 10: a long text is not searched for a long pattern from a property', () => {
  const long = text('a'.repeat(31_000));
  for (const pattern of [`%${'a_'.repeat(500)}b%`, `%${'a'.repeat(900)}b%`]) {
    assert.throws(() => run('a LIKE b', { a: long, b: text(pattern) }), /too long to be searched/);
    // A constant pattern is bounded by the length of the filter.
    run(`a LIKE '${pattern}'`, { a: long });
    run('a LIKE b', { a: text('a'.repeat(1000)), b: text(pattern) });
  }
  const words = Math.floor(BUDGETS.filter.likeSteps / 31_000);
  run('a LIKE b', { a: long, b: text(`%${'a'.repeat(words * 31 - 1)}b%`) });
  run('a LIKE b', { a: long, b: text('%a%a%a%a%a%a%b%') });
});

test('row 10: a message on which such a filter fails is dead-lettered, not lost', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 1, 'a LIKE b');
  const { status } = await broker.sendBatch('t', [
    {
      Body: 'x',
      UserProperties: { a: 'a'.repeat(31_000), b: `%${'a_'.repeat(500)}b%` },
    },
  ]);
  assert.equal(status, 201);
  const [dead] = await broker.receiveAndDeleteMany('t/Subscriptions/s0/$deadletterqueue', 1);
  assert.ok(dead !== undefined);
});

test('row 10: other clients have their turns while many rules are evaluated', async (t) => {
  const turns = { count: 0 };
  let elapsed = 0;
  // Each read of this clock, and so each rule, takes 4 ms.
  const scheduler = {
    ...realScheduler,
    now: () => {
      elapsed += 4;
      return elapsed;
    },
    soon: (work: () => void) => {
      turns.count += 1;
      realScheduler.soon(work);
    },
  };
  const broker = await startBroker(t, { scheduler });
  await createTopic(broker, 8, 'a = 1');
  const before = turns.count;
  const messages = Array.from({ length: 10 }, () => ({ Body: 'x' }));
  assert.equal((await broker.sendBatch('t', messages)).status, 201);
  // 80 rules of 4 ms each, in turns of a few ms.
  const rules = 80;
  assert.ok(turns.count - before >= (rules * 4) / (BUDGETS.turnMs + 8), `${turns.count - before}`);
});

/** A topic `t` with subscriptions `s0`, `s1` … that have one rule each. */
async function createTopic(broker: TestBroker, subscriptions: number, expression: string) {
  await broker.putEntity('t', 'TopicDescription', {});
  for (let i = 0; i < subscriptions; i++) {
    const filter = `<Filter xmlns:i="${NAMESPACE.instance}" i:type="SqlFilter"><SqlExpression>${expression}</SqlExpression></Filter>`;
    const { status } = await broker.request('PUT', `t/Subscriptions/s${i}`, {
      body: entry(
        'SubscriptionDescription',
        `<DeadLetteringOnFilterEvaluationExceptions>true</DeadLetteringOnFilterEvaluationExceptions><DefaultRuleDescription>${filter}<Name>r</Name></DefaultRuleDescription>`,
      ),
    });
    assert.equal(status, 201);
  }
}
