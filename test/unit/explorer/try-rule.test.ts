import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryRule } from '../../../explorer/entity/try-rule.ts';

const MESSAGE = JSON.stringify({
  Body: '{"total":17}',
  BrokerProperties: { Label: 'created', CorrelationId: 'c7', MessageId: 'm1' },
  UserProperties: {
    region: 'eu',
    count: 7,
    half: 0.5,
    rush: true,
    big: { $long: '9007199254740993' },
    id: { $guid: '6f9619ff-8b86-d011-b42d-00c04fc964ff' },
    hash: { $bytes: '_-8=' },
  },
});
const NOW = Date.UTC(2026, 0, 15);

const tried = (rule: { sql?: string; correlation?: string; action?: string }, message = MESSAGE) =>
  tryRule({ sql: '', correlation: '', action: '', ...rule }, message, NOW);

for (const [sql, isMatch] of [
  ['', true],
  ["region = 'eu'", true],
  ["region = 'us'", false],
  ['count > 6 AND half < 1', true],
  ['rush = TRUE', true],
  ['big = 9007199254740993', true],
  ['big = 9007199254740992', false],
  ["sys.Label = 'created'", true],
  ["sys.CorrelationId = 'c8'", false],
  ["id = '6f9619ff-8b86-d011-b42d-00c04fc964ff'", true],
  ['EXISTS(hash)', true],
  ['missing IS NULL', true],
] as const) {
  test(`the condition '${sql}' ${isMatch ? 'matches' : 'does not match'}`, () => {
    assert.equal(tried({ sql }).isMatch, isMatch);
  });
}

for (const [correlation, isMatch] of [
  ['{"correlationId":"c7"}', true],
  ['{"correlationId":"c8"}', false],
  ['{"subject":"created"}', true],
  ['{"properties":{"region":"eu"}}', true],
  ['{"properties":{"count":7}}', true],
  ['{"properties":{"count":8}}', false],
] as const) {
  test(`the correlation filter ${correlation} ${isMatch ? 'matches' : 'does not match'}`, () => {
    assert.equal(tried({ correlation }).isMatch, isMatch);
  });
}

for (const [rule, why] of [
  [{ correlation: '{"label":"created"}' }, /correlation\.label: There is no such property/],
  [{ correlation: '{"to":7}' }, /correlation\.to: It must be a text, not 7/],
  [{ correlation: '{"subject":"created"}', sql: 'count > 6' }, /A rule has one filter/],
] as const) {
  test(`${JSON.stringify(rule)} is refused, as the service refuses it`, () => {
    assert.throws(() => tried(rule), why);
  });
}

test('an action says which properties the copy has that the message has not', () => {
  const { sentence } = tried({ action: "SET region = 'us'; SET extra = 1; REMOVE rush" });
  assert.equal(sentence, 'The rule matches. Its copy differs in: region, rush, extra.');
});

test('a rule that fails on the message says why', () => {
  const { isMatch, sentence } = tried({ sql: 'count / 0 = 1' });
  assert.ok(!isMatch);
  assert.match(sentence, /^The rule fails on the message: /);
});

for (const [what, rule, message, expected] of [
  ['a condition', { sql: 'region = ' }, MESSAGE, /expected/],
  ['a correlation filter', { correlation: '[]' }, MESSAGE, /must be a JSON object/],
  ['a message', {}, 'no JSON', /The message is not valid JSON/],
  ['a list in place of a message', {}, '[]', /The message must be a JSON object/],
  ['a property', {}, '{"UserProperties":{"a":[1]}}', /The property 'a' is a list/],
  ['an action', { action: 'DROP TABLE' }, MESSAGE, /./],
] as const) {
  test(`${what} that cannot be read is refused with a sentence`, () => {
    assert.throws(() => tried(rule, message), expected);
  });
}
