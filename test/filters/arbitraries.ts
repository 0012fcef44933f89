import fc from 'fast-check';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import type {
  Expression,
  Predicate,
  PropertyNode,
  PropertyReference,
  Statement,
} from '../../shared/filters/language/syntax.ts';

const at = 0;

const names = fc.oneof(
  fc.constantFrom('color', 'quantity', 'rate', 'flag', 'id', 'missing', 'p', 'sys', 'set', 'newid'),
  fc.constantFrom('AND', 'null', 'a]b', 'my prop', "it's", '1st', 'größe', '__proto__', 'a.b', '"'),
  fc.string({ minLength: 1, maxLength: 4 }),
);

const systemNames = fc.constantFrom(
  'Label',
  'label',
  'SequenceNumber',
  'TimeToLive',
  'Bogus',
  'To',
);

const properties: fc.Arbitrary<PropertyNode> = fc.oneof(
  names.map((name): PropertyNode => ({ kind: 'property', scope: 'user', name, at })),
  systemNames.map((name): PropertyNode => ({ kind: 'property', scope: 'sys', name, at })),
);

const constants: fc.Arbitrary<Expression> = fc
  .oneof(
    fc.constant({ type: 'null' } as const),
    fc.boolean().map((value) => ({ type: 'boolean', value }) as const),
    fc.string({ maxLength: 5 }).map((value) => ({ type: 'string', value }) as const),
    fc
      .constantFrom('red', 'r%', '_e_', '', "''")
      .map((value) => ({ type: 'string', value }) as const),
    fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((value) => ({ type: 'long', value }) as const),
    fc.bigInt({ min: 0n, max: 3n }).map((value) => ({ type: 'long', value }) as const),
    fc
      .double({ min: 0, noNaN: true, noDefaultInfinity: true })
      .map((value) => ({ type: 'double', value: Math.abs(value) }) as const),
  )
  .map((value) => ({ kind: 'constant', value, at }));

interface Trees {
  readonly expression: Expression;
  readonly reference: PropertyReference;
  readonly predicate: Predicate;
}

const trees = fc.letrec<Trees>((tie: fc.LetrecTypedTie<Trees>) => ({
  reference: fc.oneof(
    { weight: 5, arbitrary: properties },
    {
      weight: 1,
      arbitrary: tie('expression').map((name) => ({ kind: 'propertyByName', name, at }) as const),
    },
  ),
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: constants },
    { weight: 4, arbitrary: properties },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('min', 'max')
        .map((name) => ({ kind: 'parameter', name, at }) as const),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'newId', at } as const) },
    { weight: 1, arbitrary: tie('reference') },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('sign' as const),
        operator: fc.constantFrom('+' as const, '-' as const),
        operand: tie('expression'),
        at: fc.constant(at),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('arithmetic' as const),
        operator: fc.constantFrom(...(['+', '-', '*', '/', '%'] as const)),
        left: tie('expression'),
        right: tie('expression'),
        at: fc.constant(at),
      }),
    },
  ),
  predicate: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('comparison' as const),
        operator: fc.constantFrom(...(['=', '<>', '<', '<=', '>', '>='] as const)),
        left: tie('expression'),
        right: tie('expression'),
        at: fc.constant(at),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('isNull' as const),
        operand: tie('reference'),
        negated: fc.boolean(),
        at: fc.constant(at),
      }),
    },
    {
      weight: 1,
      arbitrary: tie('reference').map((operand) => ({ kind: 'exists', operand, at }) as const),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('in' as const),
        operand: tie('expression'),
        list: fc.array(tie('expression'), { minLength: 1, maxLength: 3 }),
        negated: fc.boolean(),
        at: fc.constant(at),
      }),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({
          kind: fc.constant('like' as const),
          operand: tie('expression'),
          pattern: tie('expression'),
          negated: fc.boolean(),
          at: fc.constant(at),
        })
        .chain((like) =>
          fc.oneof(
            fc.constant(like),
            tie('expression').map((sign) => ({ ...like, escape: sign })),
          ),
        ),
    },
    {
      weight: 2,
      arbitrary: tie('predicate').map((operand) => ({ kind: 'not', operand, at }) as const),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        left: tie('predicate'),
        right: tie('predicate'),
        at: fc.constant(at),
      }),
    },
  ),
}));

/** Any condition that the parser can return. */
export const predicates: fc.Arbitrary<Predicate> = trees.predicate;

/** Any statement that the parser can return. */
export const statements: fc.Arbitrary<Statement> = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    target: properties,
    value: trees.expression,
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constant('remove' as const), target: properties, at: fc.constant(at) }),
);

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** A value of any type, edge cases included. */
const values: fc.Arbitrary<PropertyValue> = fc.oneof(
  fc.constant({ type: 'null' } as const),
  fc.boolean().map((value) => ({ type: 'boolean', value }) as const),
  fc.record({
    type: fc.constantFrom('string' as const, 'char' as const, 'uri' as const),
    value: fc.oneof(fc.string(), fc.constantFrom('red', 'color', '1', '%', '!')),
  }),
  fc.uuid().map((value) => ({ type: 'guid', value }) as const),
  fc.record({
    type: fc.constantFrom('byte' as const, 'sbyte' as const, 'short' as const, 'ushort' as const),
    value: fc.nat(127),
  }),
  fc.record({
    type: fc.constantFrom('int' as const, 'uint' as const, 'dateTime' as const),
    // A fraction or NaN is no int, but a faulty sender may store one as such.
    value: fc.oneof(fc.integer(), fc.constantFrom(1.5, Number.NaN, Number.POSITIVE_INFINITY)),
  }),
  fc.record({ type: fc.constantFrom('float' as const, 'double' as const), value: fc.double() }),
  fc.record({ type: fc.constantFrom('long' as const, 'timeSpan' as const), value: int64 }),
  fc.record({
    type: fc.constantFrom('ulong' as const, 'dateTimeOffset' as const),
    value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  }),
  fc.record({
    type: fc.constantFrom('decimal' as const, 'bytes' as const),
    value: fc.uint8Array({ minLength: 15, maxLength: 16 }),
  }),
);

/** Property sets that mostly contain the properties of the trees. */
export const propertySets: fc.Arbitrary<Properties> = fc.oneof(
  fc.dictionary(
    fc.constantFrom('color', 'quantity', 'rate', 'flag', 'id', 'p', 'Color', '@min', 'max'),
    values,
    { noNullPrototype: true },
  ),
  fc.record({
    color: fc.constantFrom('red', 'blue').map((value) => ({ type: 'string', value }) as const),
    quantity: fc.nat(3).map((value) => ({ type: 'int', value }) as const),
    rate: fc.constantFrom(1, 2.5).map((value) => ({ type: 'double', value }) as const),
    flag: fc.boolean().map((value) => ({ type: 'boolean', value }) as const),
  }),
);

const pieces = fc.constantFrom(
  ...[
    'a',
    'sys.Label',
    '[x y]',
    "'t'",
    '1',
    '2.5',
    '@p',
    'NULL',
    'TRUE',
    'newid()',
    'p(',
    'property(',
  ],
  ...['AND', 'OR', 'NOT', 'IN', 'IS', 'LIKE', 'ESCAPE', 'EXISTS', 'BETWEEN', 'SET', 'REMOVE'],
  ...['=', '<>', '<=', '+', '-', '*', '/', '%', '(', ')', ',', ';', '.', "'", '[', '"', '@', '😀'],
);

/** Random texts, and texts that are almost expressions. */
export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(pieces, { maxLength: 25 }).map((list) => list.join(' ')),
  fc.array(pieces, { maxLength: 25 }).map((list) => list.join('')),
);

const leaves = fc.constantFrom(
  ...["color = 'red'", "color <> 'red'", "color LIKE 'r%'", "color IN ('blue', missing)"],
  ...['quantity > 1', 'quantity + 1 = 2', 'rate <= quantity', 'flag = TRUE', 'EXISTS(flag)'],
  ...['missing = 1', 'color IS NULL', 'NULL = NULL', '1 = 1', '1 = 0'],
);

/** Texts of conditions with all three truth values, none of which fails for a message of `calmSets`. */
export const calmConditions: fc.Arbitrary<string> = fc.letrec<{ readonly condition: string }>(
  (tie: fc.LetrecTypedTie<{ readonly condition: string }>) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      leaves,
      tie('condition').map((inner) => `NOT (${inner})`),
      fc
        .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
        .map(([left, operator, right]) => `(${left}) ${operator} (${right})`),
    ),
  }),
).condition;

const orNull = (arbitrary: fc.Arbitrary<PropertyValue>): fc.Arbitrary<PropertyValue> =>
  fc.option(arbitrary, { nil: { type: 'null' } as const });

/** Properties of the expected types, some of them null or missing. */
export const calmSets: fc.Arbitrary<Properties> = fc.record(
  {
    color: orNull(fc.constantFrom('red', 'blue').map((value) => ({ type: 'string', value }))),
    quantity: orNull(fc.nat(3).map((value) => ({ type: 'int', value }))),
    rate: orNull(fc.constantFrom(1, 2.5).map((value) => ({ type: 'double', value }))),
    flag: orNull(fc.boolean().map((value) => ({ type: 'boolean', value }))),
  },
  { requiredKeys: [] },
);
