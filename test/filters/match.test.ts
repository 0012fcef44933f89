import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Message } from '../../shared/domain/messages/message.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { matchRules, type RuleMatch } from '../../shared/filters/match.ts';
import { type Filter, type Rule, validateRule } from '../../shared/filters/rule.ts';
import { countingRandom, inputOf, int, resultOf, sql, string } from './support.ts';

function rule(name: string, filter: Filter | string, action?: string): Rule {
  return {
    name,
    filter: typeof filter === 'string' ? sql(filter) : filter,
    createdAt: 0,
    ...(action === undefined ? {} : { action: { expression: action, parameters: {} } }),
  };
}

function match(
  rules: readonly Rule[],
  properties: Properties,
  system: Partial<Message> = {},
): RuleMatch {
  return matchRules(rules, inputOf(properties, system), countingRandom());
}

const copyCount = (filter: string, properties: Properties, system: Partial<Message> = {}): number =>
  match([rule('r', filter)], properties, system).copies.length;

const RED = { color: string('red'), quantity: int(10), priority: string('high') };

test('#101 two matching rules without actions make one copy', () => {
  const { copies, failures } = match(
    [rule('a', "color = 'red'"), rule('b', { kind: 'true' })],
    RED,
  );
  assert.equal(copies.length, 1);
  assert.ok(!('RuleName' in (copies[0]?.message.properties ?? {})));
  assert.deepEqual(failures, []);
});

test('#102 two matching rules with actions and one without make three copies', () => {
  const { copies } = match(
    [
      rule('first', { kind: 'true' }, "SET mark = 'one'"),
      rule('plain', "color = 'red'"),
      rule('second', 'quantity = 10', "SET mark = 'two'"),
      rule('other', "color = 'blue'", "SET mark = 'three'"),
    ],
    RED,
  );
  assert.deepEqual(
    copies.map(({ message, rule }) => [
      message.properties['RuleName'],
      message.properties['mark'],
      rule?.name,
    ]),
    [
      [undefined, undefined, undefined],
      [string('first'), string('one'), 'first'],
      [string('second'), string('two'), 'second'],
    ],
  );
  assert.equal(new Set(copies.map(({ message }) => message.messageId)).size, 1);
});

test('#102 five rules match, two with actions, three messages', () => {
  const rules = ['a', 'b', 'c'].map((name) => rule(name, { kind: 'true' }));
  const actions = ['d', 'e'].map((name) => rule(name, { kind: 'true' }, 'SET x = 1'));
  assert.equal(match([...rules, ...actions], RED).copies.length, 3);
});

test('#103 no rules, no copies', () => {
  assert.deepEqual(match([], RED), { copies: [], failures: [] });
});

test('a FalseFilter never matches, a TrueFilter always', () => {
  assert.equal(match([rule('f', { kind: 'false' })], RED).copies.length, 0);
  assert.equal(match([rule('t', { kind: 'true' })], {}).copies.length, 1);
});

test('#105 a missing property matches neither = nor <>, only IS NULL', () => {
  assert.equal(copyCount("color = 'red'", {}), 0);
  assert.equal(copyCount("color <> 'red'", {}), 0);
  assert.equal(copyCount('color IS NULL', {}), 1);
});

test('#106 NOT of unknown is unknown and does not match', () => {
  assert.equal(copyCount("NOT (color = 'red')", {}), 0);
  assert.equal(resultOf("NOT (color = 'red')", inputOf()), 'unknown');
});

test('#107 EXISTS is true or false, never unknown', () => {
  assert.equal(resultOf('EXISTS(color)', inputOf()), 'false');
  assert.equal(resultOf('NOT EXISTS(color)', inputOf()), 'true');
  assert.equal(resultOf('EXISTS(color)', inputOf(RED)), 'true');
});

test('#108 NOT IN does not match a missing property', () => {
  assert.equal(copyCount('x NOT IN (1,2)', {}), 0);
  assert.equal(copyCount('x NOT IN (1,2)', { x: int(3) }), 1);
});

test('#109 ESCAPE takes the wildcard out of _', () => {
  const filter = "Name LIKE 'a\\_%' ESCAPE '\\'";
  assert.equal(copyCount(filter, { Name: string('a_b') }), 1);
  assert.equal(copyCount(filter, { Name: string('axb') }), 0);
});

test('#110 brackets and double quotes both delimit a name', () => {
  const properties = { 'my prop': int(1) };
  assert.equal(copyCount('[my prop] = 1', properties), 1);
  assert.equal(copyCount('"my prop" = 1', properties), 1);
});

test('#111 sys.Label of a message without one does not match', () => {
  assert.equal(copyCount("sys.Label = 'x'", {}), 0);
  assert.equal(copyCount("sys.Label = 'x'", {}, { label: 'x' }), 1);
});

test('#112 an unknown system name is a FilterException when a message arrives, not when the rule is created', () => {
  const bogus = rule('bogus', 'sys.Bogus = 1');
  validateRule(bogus);
  const { copies, failures } = match([bogus], RED);
  assert.equal(copies.length, 0);
  assert.equal(failures[0]?.rule, bogus);
  assert.equal(failures[0]?.error.typeName, 'FilterException');
  assert.match(failures[0]?.error.message ?? '', /^Line 1, column 1: .*'sys\.Bogus'/);
});

test('#113 a failing rule does not keep the others from matching', () => {
  const rules = [rule('bad', '1 / 0 = 1'), rule('good', "color = 'red'")];
  const { copies, failures } = match(rules, RED);
  assert.deepEqual([copies.length, failures.length], [1, 1]);
});

test('#114 a correlation filter compares texts with their case', () => {
  const red = rule('red', { kind: 'correlation', label: 'red', properties: {} });
  assert.equal(match([red], {}, { label: 'red' }).copies.length, 1);
  assert.equal(match([red], {}, { label: 'Red' }).copies.length, 0);
});

test('#115 all conditions of a correlation filter must hold', () => {
  const both = rule('both', { kind: 'correlation', label: 'red', properties: { prop: int(1) } });
  assert.equal(match([both], { prop: int(1) }, { label: 'red' }).copies.length, 1);
  assert.equal(match([both], { prop: int(2) }, { label: 'red' }).copies.length, 0);
  assert.equal(match([both], { prop: int(1) }).copies.length, 0);
});

test('#116 an action changes its copy and nothing else', () => {
  const action = 'SET quantity = quantity / 2; REMOVE priority';
  const input = inputOf(RED);
  const { copies } = matchRules(
    [rule('half', "color = 'red'", action), rule('plain', { kind: 'true' })],
    input,
    countingRandom(),
  );
  assert.equal(copies[0]?.message, input.message);
  assert.deepEqual(input.message.properties, RED);
  assert.deepEqual(copies[1]?.message.properties, {
    color: string('red'),
    quantity: int(5),
    RuleName: string('half'),
  });
});

test('#117 an action may set a system property', () => {
  const { copies } = match([rule('r', { kind: 'true' }, "SET sys.CorrelationId = 'low'")], RED);
  assert.equal(copies[0]?.message.correlationId, 'low');
});

test('a rule without an action is not evaluated once there is a plain copy', () => {
  const rules = [rule('good', { kind: 'true' }), rule('bad', '1 / 0 = 1')];
  assert.deepEqual(match(rules, RED).failures, []);
});

test('a failed action is reported with its own error name', () => {
  const { copies, failures } = match([rule('r', { kind: 'true' }, 'SET x = missing')], RED);
  assert.equal(copies.length, 0);
  assert.equal(failures[0]?.error.typeName, 'RuleActionException');
});

test("RuleName is the broker's: a correlation filter may carry an action too", () => {
  const filter: Filter = { kind: 'correlation', properties: { color: string('red') } };
  const { copies } = match([rule('r', filter, "SET RuleName = 'mine'")], RED);
  assert.deepEqual(copies[0]?.message.properties['RuleName'], string('r'));
});

const refused = (filter: Filter | string, action?: string): BrokerError => {
  try {
    validateRule(rule('r', filter, action));
  } catch (error) {
    assert.ok(error instanceof BrokerError);
    assert.equal(error.code, 'ArgumentError');
    assert.equal(error.subCode, '40000');
    return error;
  }
  return assert.fail('the rule was accepted');
};

test('#118 an expression of more than 1,024 characters is refused', () => {
  const longest = `a = '${'x'.repeat(1018)}'`;
  assert.equal(longest.length, 1024);
  validateRule(rule('r', longest));
  assert.match(refused(`${longest} `).message, /1025 characters long; 1024 are allowed/);
  assert.match(refused('1 = 1', `SET ${longest}`).message, /The expression of the action is 1028/);
});

test('a rule that could never run is refused, with the position', () => {
  assert.match(
    refused('a = ').message,
    /The expression of the filter .* Line 1, column 5: expected/,
  );
  assert.match(refused('1').message, /a value is no condition/);
  assert.match(refused('1 = 1', 'SET a').message, /The expression of the action .* column 6/);
  assert.match(refused('1 = 1', 'SET a = 1;'.repeat(33)).message, /32 statements/);
  assert.match(refused({ kind: 'correlation', properties: {} }).message, /at least one condition/);
  assert.match(refused('a > @min').message, /column 5: the parameter @min has no value/);
  const unnamed = { '': int(1) };
  assert.match(
    refused({ kind: 'correlation', properties: unnamed }).message,
    /A name of the properties of the filter is empty/,
  );
  assert.match(
    refused(sql('a = 1', unnamed)).message,
    /A name of the parameters of the filter is empty/,
  );
  validateRule({ filter: sql('a > @min', { '@min': int(1) }) });
  validateRule({ filter: { kind: 'correlation', properties: { a: int(1) } } });
  validateRule({ filter: { kind: 'true' } });
});

test('the colour data set of the vendor’s live tests', () => {
  const data = [
    { properties: { color: string('red'), quantity: int(10) }, system: { label: 'red' } },
    { properties: { color: string('blue'), quantity: int(10) }, system: { label: 'blue' } },
    { properties: { color: string('blue'), quantity: int(5) }, system: { label: 'blue' } },
    { properties: { color: string('yellow'), quantity: int(10), priority: string('1%') } },
    { properties: { quantity: int(1), priority: string('10') }, system: { label: 'red' } },
  ];
  const expected: Readonly<Record<string, number>> = {
    "color = 'red'": 1,
    "color='blue' and quantity = 10": 1,
    "color = 'blue' OR quantity = 10": 4,
    '1=1': 5,
    '1=0': 0,
    "sys.Label = 'red'": 2,
    "color IN ('red','blue')": 3,
    "color LIKE 'bl%'": 2,
    'EXISTS(color)': 4,
    'NOT EXISTS(color)': 1,
    'color IS NULL': 1,
    "priority LIKE '1\\%' ESCAPE '\\'": 1,
  };
  for (const [filter, count] of Object.entries(expected)) {
    const copies = data.map(({ properties, system }) => copyCount(filter, properties, system));
    assert.equal(
      copies.reduce((sum, copy) => sum + copy, 0),
      count,
      filter,
    );
  }
});

test('#119 matching ignores names of rules: two rules of one name both count', () => {
  const rules = [
    rule('r', { kind: 'true' }, 'SET x = 1'),
    rule('R', { kind: 'true' }, 'SET x = 2'),
  ];
  assert.equal(match(rules, RED).copies.length, 2);
});
