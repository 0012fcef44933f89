import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../shared/domain/messages/message.ts';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import { applyAction } from '../../shared/filters/action.ts';
import { FilterError } from '../../shared/filters/filter-error.ts';
import type { FilterInput } from '../../shared/filters/filter-input.ts';
import { decimal } from './rows-values.ts';
import {
  boolean,
  countingRandom,
  dateTime,
  double,
  ENQUEUED_AT,
  guid,
  inputOf,
  int,
  long,
  NULL,
  spanOfMs,
  string,
} from './support.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

const BEFORE: Properties = {
  quantity: int(10),
  small: { type: 'byte', value: 250 },
  total: long(5n),
  rate: double(1.5),
  price: decimal('10.10'),
  flag: boolean(true),
  name: string('abc'),
  letter: { type: 'char', value: 'x' },
  link: { type: 'uri', value: 'http://a' },
  id: guid(GUID),
  at: dateTime(ENQUEUED_AT),
  span: spanOfMs(1000),
  bytes: { type: 'bytes', value: Uint8Array.of(1, 2) },
  nothing: NULL,
  Priority: string('High'),
};

const PARAMETERS: Properties = {
  '@hour': spanOfMs(3_600_000),
  '@zero': spanOfMs(0),
  '@forever': { type: 'timeSpan', value: 2n ** 63n - 1n },
  '@when': dateTime(ENQUEUED_AT + 1),
};

function run(expression: string, system: Partial<Message> = {}): FilterInput {
  const input = inputOf(BEFORE, system);
  const copy = structuredClone(input.message);
  const after = applyAction({ expression, parameters: PARAMETERS }, input, countingRandom());
  // The input is unchanged.
  assert.deepEqual(input.message, copy);
  return after;
}

/** The changes: new or changed values, `undefined` for a removed property. */
type Change = Readonly<Record<string, PropertyValue | undefined>>;

const USER_ROWS: readonly (readonly [expression: string, change: Change])[] = [
  // New properties take the type of the expression; a plain copy keeps its type exactly.
  ['SET extra = 1', { extra: long(1n) }],
  ['SET extra = 1.5', { extra: double(1.5) }],
  ["SET extra = 'x'", { extra: string('x') }],
  ['SET extra = TRUE', { extra: boolean(true) }],
  ['SET extra = NULL', { extra: NULL }],
  ['SET extra = quantity', { extra: int(10) }],
  ['SET extra = quantity + 0', { extra: long(10n) }],
  ['SET extra = bytes', { extra: { type: 'bytes', value: Uint8Array.of(1, 2) } }],
  ['SET extra = nothing', { extra: NULL }],
  ['SET extra = nothing + 1', { extra: NULL }],
  ["SET extra = p('na' + 'me') + '!'", { extra: string('abc!') }],
  ['SET extra = @hour', { extra: spanOfMs(3_600_000) }],
  ['SET extra = sys.MessageId', { extra: string('m1') }],
  ['SET extra = at + @hour - @hour', { extra: dateTime(ENQUEUED_AT) }],
  ['SET [a b] = 1', { 'a b': long(1n) }],
  ['SET user.extra = 1', { extra: long(1n) }],
  ['SET [__proto__] = 1', { ['__proto__']: long(1n) }],
  // Existing ones keep their type and their name.
  ['SET quantity = quantity / 2', { quantity: int(5) }],
  ['SET QUANTITY = 3', { quantity: int(3) }],
  ['SET quantity = 3.0', { quantity: int(3) }],
  ["SET quantity = '3'", { quantity: int(3) }],
  ['SET quantity = price - 0.1', { quantity: int(10) }],
  ['SET small = 255', { small: { type: 'byte', value: 255 } }],
  ['SET total = quantity', { total: long(10n) }],
  ['SET rate = 2', { rate: double(2) }],
  ["SET rate = '2.5'", { rate: double(2.5) }],
  ['SET price = 2', { price: decimal('2') }],
  ['SET price = 0.1', { price: decimal('0.1') }],
  ['SET price = price + 1', { price: decimal('11.10') }],
  ["SET flag = 'false'", { flag: boolean(false) }],
  ['SET name = 5', { name: string('5') }],
  ['SET name = flag', { name: string('True') }],
  ['SET name = price', { name: string('10.10') }],
  ['SET name = id', { name: string(GUID) }],
  ["SET letter = 'y'", { letter: { type: 'char', value: 'y' } }],
  ["SET link = 'http://b'", { link: { type: 'uri', value: 'http://b' } }],
  [`SET id = '{${GUID.toUpperCase()}}'`, {}],
  ['SET nothing = 7', { nothing: long(7n) }],
  ['SET quantity = NULL', { quantity: NULL }],
  ['SET at = @when', { at: dateTime(ENQUEUED_AT + 1) }],
  // REMOVE, and several statements.
  ['REMOVE Priority', { Priority: undefined }],
  ['remove priority', { Priority: undefined }],
  ['REMOVE user.[Priority];', { Priority: undefined }],
  ['REMOVE missing', {}],
  ['SET extra = 1; SET extra = extra + 1; SET more = extra', { extra: long(2n), more: long(2n) }],
  ['SET extra = 1 SET more = 2 REMOVE name', { extra: long(1n), more: long(2n), name: undefined }],
  ['REMOVE name; SET name = 5', { name: long(5n) }],
  ['set set = 1 remove remove', { set: long(1n) }],
];

for (const [expression, change] of USER_ROWS) {
  test(`action: ${expression}`, () => {
    const expected = { ...BEFORE, ...change };
    const wanted = Object.entries(expected).filter(([, value]) => value !== undefined);
    assert.deepEqual(run(expression).message.properties, Object.fromEntries(wanted));
  });
}

const FAILURES: readonly (readonly [expression: string, reason: RegExp, position: number])[] = [
  ['SET extra = missing', /set from a property that is missing/, 4],
  ['SET extra = 1 + missing', /missing/, 4],
  ['SET extra = 1 / 0', /division by zero/, 14],
  ["SET extra = 1 + 'a'", /not defined between long and string/, 14],
  ['SET extra = @other', /@other has no value/, 12],
  ['SET extra = sys.Bogus', /no system property/, 12],
  ['SET quantity = 2.5', /quantity is of type int, and this double cannot/, 4],
  ["SET quantity = 'many'", /cannot become one/, 4],
  ['SET quantity = 3000000000', /cannot become one/, 4],
  ['SET quantity = flag', /cannot become one/, 4],
  ['SET small = 256', /cannot become one/, 4],
  ['SET small = -1', /cannot become one/, 4],
  ['SET flag = 1', /cannot become one/, 4],
  ["SET letter = 'yz'", /cannot become one/, 4],
  ["SET id = 'x'", /cannot become one/, 4],
  ["SET at = '2026-01-01'", /cannot become one/, 4],
  ['SET span = 5', /cannot become one/, 4],
  ["SET bytes = 'x'", /cannot become one/, 4],
  ['SET name = bytes', /cannot become one/, 4],
  ['SET sys.Bogus = 1', /no system property 'sys.Bogus'/, 4],
  ['SET sys.SequenceNumber = 1', /cannot be set/, 4],
  ['SET sys.EnqueuedTimeUtc = @when', /cannot be set/, 4],
  ['SET sys.MessageId = NULL', /cannot be null/, 4],
  ["SET sys.MessageId = ''", /cannot be empty/, 4],
  ['SET sys.Label = span', /is a string, not timeSpan/, 4],
  ['SET sys.TimeToLive = 5', /is a timeSpan/, 4],
  ['SET sys.TimeToLive = @zero', /at least one millisecond/, 4],
  ['SET sys.ScheduledEnqueueTimeUtc = 1', /is a dateTime/, 4],
  ['SET sys.ForcePersistence = 1', /is a boolean/, 4],
  ['REMOVE sys.Label', /cannot be removed/, 7],
  [`SET a = '${'x'.repeat(129)}' SET sys.SessionId = a`, /128 characters/, 144],
];

for (const [expression, reason, position] of FAILURES) {
  test(`action fails: ${expression.slice(0, 60)}`, () => {
    assert.throws(
      () => run(expression),
      (error) => {
        assert.ok(error instanceof FilterError);
        assert.match(error.reason, reason);
        assert.equal(error.position, position);
        assert.equal(error.typeName, 'RuleActionException');
        return true;
      },
    );
  });
}

test('#117 SET sys.CorrelationId changes the system property', () => {
  assert.equal(run("SET sys.CorrelationId = 'low'").message.correlationId, 'low');
});

test('every system property that a sender can set can be set by an action', () => {
  const names = ['MessageId', 'SessionId', 'PartitionKey', 'ViaPartitionKey', 'ReplyToSessionId'];
  const others = ['CorrelationId', 'ReplyTo', 'To', 'Label', 'ContentType'];
  const expression = [...names, ...others].map((name) => `SET sys.${name} = 'v' + 'x'`).join(';');
  const { properties: _properties, body: _body, ...system } = run(expression).message;
  assert.equal(Object.keys(system).length, 10);
  assert.deepEqual(new Set(Object.values(system)), new Set(['vx']));
});

test('a text system property accepts every value with a text form, and null removes it', () => {
  assert.equal(run('SET sys.Label = quantity').message.label, '10');
  assert.ok(!('label' in run('SET sys.Label = NULL', { label: 'x' }).message));
  assert.equal(run("SET sys.[label] = 'y'", { label: 'x' }).message.label, 'y');
});

test('later statements read a new time to live', () => {
  const after = run(
    'SET sys.TimeToLive = @hour; SET left = sys.ExpiresAtUtc - sys.EnqueuedTimeUtc',
  );
  assert.equal(after.message.timeToLiveMs, 3_600_000);
  assert.equal(after.facts.expiresAt, ENQUEUED_AT + 3_600_000);
  assert.deepEqual(after.message.properties['left'], spanOfMs(3_600_000));
});

test('the longest time to live means unlimited', () => {
  const after = run('SET sys.TimeToLive = @forever', { timeToLiveMs: 5 });
  assert.ok(!('timeToLiveMs' in after.message) && !('expiresAt' in after.facts));
});

test('the scheduled time and persistence can be set', () => {
  const { message } = run(
    'SET sys.ScheduledEnqueueTimeUtc = @when SET sys.ForcePersistence = TRUE',
  );
  assert.equal(message.scheduledEnqueueAt, ENQUEUED_AT + 1);
  assert.equal(message.forcePersistence, true);
  const without = run('SET sys.ScheduledEnqueueTimeUtc = NULL', { scheduledEnqueueAt: 5 });
  assert.ok(!('scheduledEnqueueAt' in without.message));
});

test('newid() makes a new guid of version 4 each time', () => {
  const { properties } = run('SET x = newid(); SET y = newid()').message;
  const [x, y] = [properties['x'], properties['y']];
  assert.ok(x?.type === 'guid' && y?.type === 'guid');
  assert.match(x.value, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(x.value, y.value);
});

test('32 statements run', () => {
  const { properties } = run(`SET n = 0;${'SET n = n + 1;'.repeat(31)}`).message;
  assert.deepEqual(properties['n'], long(31n));
});
