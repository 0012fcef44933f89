import fc from 'fast-check';
import type {
  CorrelationFilter,
  QueueDescription,
  RuleDescription,
  RuleValue,
  SubscriptionDescription,
  TopicDescription,
} from '../../../local/config/description.ts';

const name = fc
  .tuple(fc.constantFrom('a', 'B', 'q.1', 'x-y_z'), fc.nat({ max: 999 }))
  .map(([word, n]) => `${word}${n}`);
const duration = (minMs: number, maxMs: number) =>
  fc.integer({ min: minMs, max: maxMs }).map((ms) => `PT${ms / 1000}S`);
const optional = <T>(values: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(values, { requiredKeys: [] });

const DAY_MS = 86_400_000;
const COMMON = {
  defaultMessageTimeToLive: duration(1000, 30 * DAY_MS),
  autoDeleteOnIdle: duration(300_000, 30 * DAY_MS),
  enableBatchedOperations: fc.boolean(),
  status: fc.constantFrom('Active', 'Disabled'),
  userMetadata: fc.string({ minLength: 1, maxLength: 20 }),
} as const;
const DELIVERY = {
  lockDuration: duration(5000, 300_000),
  maxDeliveryCount: fc.integer({ min: 1, max: 2000 }),
  requiresSession: fc.boolean(),
  deadLetteringOnMessageExpiration: fc.boolean(),
};
const INGRESS = {
  requiresDuplicateDetection: fc.boolean(),
  duplicateDetectionHistoryTimeWindow: duration(20_000, 7 * DAY_MS),
  maxSizeInMegabytes: fc.constantFrom(1024, 5120),
  enablePartitioning: fc.boolean(),
  supportOrdering: fc.boolean(),
  authorizationRules: fc.constantFrom(
    [],
    [{ keyName: 'k', accessRights: ['Send' as const], primaryKey: 'A'.repeat(44) }],
  ),
};

const value: fc.Arbitrary<RuleValue> = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  }),
);
const values = fc.dictionary(fc.constantFrom('p', '__proto__', 'some name'), value);
const text = fc.string({ minLength: 1, maxLength: 9 });
const correlation: fc.Arbitrary<CorrelationFilter> = fc
  .tuple(text, optional({ contentType: text, subject: text, sessionId: text }), values)
  .map(([to, others, properties]) => ({ ...others, to, properties }));
const expression = fc
  .tuple(fc.constantFrom('a = 1', 'b > @x', '1=1', '1=0'), value)
  .map(([sql, x]) => (sql.includes('@') ? { expression: sql, parameters: { x } } : sql));
const rule: fc.Arbitrary<RuleDescription> = fc
  .tuple(
    name,
    fc.oneof(
      fc.constant({}),
      expression.map((sql) => ({ sql })),
      correlation.map((one) => ({ correlation: one })),
    ),
    fc.option(fc.constantFrom('SET x = 1', 'REMOVE y'), { nil: undefined }),
  )
  .map(([ruleName, filter, action]) => ({ name: ruleName, ...filter, action }));

const byName = { selector: (one: { name: string }) => one.name.toLowerCase() };
const subscription: fc.Arbitrary<SubscriptionDescription> = fc
  .tuple(
    name,
    optional({ ...COMMON, ...DELIVERY, deadLetteringOnFilterEvaluationExceptions: fc.boolean() }),
    fc.uniqueArray(rule, { ...byName, maxLength: 3 }),
  )
  .map(([own, settings, rules]) => ({ name: own, ...settings, rules }));
const queue: fc.Arbitrary<QueueDescription> = fc
  .tuple(name, optional({ ...COMMON, ...DELIVERY, ...INGRESS }))
  .map(([own, settings]) => ({ name: `q${own}`, ...settings }));
const topic: fc.Arbitrary<TopicDescription> = fc
  .tuple(
    name,
    optional({ ...COMMON, ...INGRESS }),
    fc.uniqueArray(subscription, { ...byName, maxLength: 3 }),
  )
  .map(([own, settings, subscriptions]) => ({ name: `t${own}`, ...settings, subscriptions }));
/** Descriptions of namespaces that the service accepts. */
export const namespace = fc
  .tuple(
    fc.uniqueArray(queue, { ...byName, maxLength: 4 }),
    fc.uniqueArray(topic, { ...byName, maxLength: 3 }),
  )
  .map(([queues, topics]) => ({
    // Each forwards to the one before it, in another spelling and as an address.
    queues: queues.map((one, i) => ({
      ...one,
      ...forwardingTo(i === 0 || one.requiresSession ? undefined : queues[i - 1]),
    })),
    topics,
  }));

function forwardingTo(before: { readonly name: string } | undefined) {
  return before === undefined ? {} : { forwardTo: before.name.toUpperCase() };
}
