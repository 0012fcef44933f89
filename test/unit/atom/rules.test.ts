import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readValue, writeValue } from '../../../lambdas/http/atom/values.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { entry, listed, startAtom } from '../../support/atom-client.ts';

/** Type and text as sent, the value they represent, and type and text as returned. */
const VALUES: readonly (readonly [string, string, PropertyValue, string, string])[] = [
  ['string', ' a ', { type: 'string', value: ' a ' }, 'string', ' a '],
  ['anyURI', 'urn:x', { type: 'uri', value: 'urn:x' }, 'string', 'urn:x'],
  ['int', ' 5 ', { type: 'int', value: 5 }, 'int', '5'],
  ['int', '-2147483648', { type: 'int', value: -2147483648 }, 'int', '-2147483648'],
  ['byte', '-128', { type: 'sbyte', value: -128 }, 'int', '-128'],
  ['unsignedByte', '255', { type: 'byte', value: 255 }, 'int', '255'],
  ['short', '-1', { type: 'short', value: -1 }, 'int', '-1'],
  ['unsignedShort', '65535', { type: 'ushort', value: 65535 }, 'int', '65535'],
  ['unsignedInt', '4294967295', { type: 'uint', value: 4294967295 }, 'double', '4294967295'],
  ['long', '7', { type: 'long', value: 7n }, 'int', '7'],
  [
    'long',
    '9223372036854775807',
    { type: 'long', value: 9223372036854775807n },
    'double',
    '9223372036854775807',
  ],
  [
    'double',
    '9007199254740993',
    { type: 'long', value: 9007199254740993n },
    'double',
    '9007199254740993',
  ],
  [
    'double',
    '18446744073709551615',
    { type: 'ulong', value: 2n ** 64n - 1n },
    'double',
    '18446744073709551615',
  ],
  // The texts that JavaScript and .NET print for doubles.
  [
    'double',
    '1152921504606847000',
    { type: 'double', value: 2 ** 60 },
    'double',
    '1152921504606847000',
  ],
  ['double', '9007199254740992', { type: 'double', value: 2 ** 53 }, 'double', '9007199254740992'],
  ['double', '1E+20', { type: 'double', value: 1e20 }, 'double', '100000000000000000000'],
  ['unsignedLong', '+1', { type: 'ulong', value: 1n }, 'int', '1'],
  ['double', '1', { type: 'double', value: 1 }, 'double', '1'],
  ['double', '-INF', { type: 'double', value: -Infinity }, 'double', '-INF'],
  ['float', '.5e1', { type: 'float', value: 5 }, 'double', '5'],
  ['float', '0.1', { type: 'float', value: Math.fround(0.1) }, 'double', String(Math.fround(0.1))],
  ['float', 'INF', { type: 'float', value: Infinity }, 'double', 'INF'],
  ['char', 'ä', { type: 'char', value: 'ä' }, 'string', 'ä'],
  ['char', ' ', { type: 'char', value: ' ' }, 'string', ' '],
  ['decimal', '1.25', { type: 'double', value: 1.25 }, 'double', '1.25'],
  ['boolean', '1', { type: 'boolean', value: true }, 'boolean', 'true'],
  ['boolean', 'false', { type: 'boolean', value: false }, 'boolean', 'false'],
  [
    'dateTime',
    '1970-01-02T01:00:00.5+01:00',
    { type: 'dateTime', value: 86_400_500, text: '1970-01-02T01:00:00.5+01:00' },
    'dateTime',
    '1970-01-02T01:00:00.5+01:00',
  ],
  [
    'dateTime',
    '1970-01-02T00:00:00.500Z',
    { type: 'dateTime', value: 86_400_500 },
    'dateTime',
    '1970-01-02T00:00:00.500Z',
  ],
  [
    'dateTime',
    '1970-01-02T00:00:00',
    { type: 'dateTime', value: 86_400_000, text: '1970-01-02T00:00:00' },
    'dateTime',
    '1970-01-02T00:00:00',
  ],
  ['duration', 'PT1.5S', { type: 'timeSpan', value: 15_000_000n }, 'string', '00:00:01.5000000'],
  [
    'duration',
    'PT0.1234567S',
    { type: 'timeSpan', value: 1_234_567n },
    'string',
    '00:00:00.1234567',
  ],
  [
    'duration',
    'P10675199DT2H48M5.4775807S',
    { type: 'timeSpan', value: 2n ** 63n - 1n },
    'string',
    '10675199.02:48:05.4775807',
  ],
  ['duration', 'PT0.00000005S', { type: 'timeSpan', value: 1n }, 'string', '00:00:00.0000001'],
  ['duration', '-P1D', { type: 'timeSpan', value: -864_000_000_000n }, 'string', '-1.00:00:00'],
  [
    'guid',
    '00000000-0000-0000-0000-00000000000A',
    { type: 'guid', value: '00000000-0000-0000-0000-00000000000a' },
    'string',
    '00000000-0000-0000-0000-00000000000a',
  ],
];

for (const [type, text, value, shownType, shownText] of VALUES) {
  test(`a ${type} of '${text}' is read, and returned as ${shownType}`, () => {
    assert.deepEqual(readValue(type, text), value);
    assert.deepEqual(writeValue(value), { type: shownType, text: shownText });
  });
}

test('a value without a type is a string', () => {
  assert.deepEqual(readValue(undefined, '5'), { type: 'string', value: '5' });
});

for (const [type, text] of [
  ['int', '2147483648'],
  ['int', '1.5'],
  ['int', ''],
  ['unsignedByte', '-1'],
  ['long', '9223372036854775808'],
  ['unsignedLong', '-1'],
  ['double', 'one'],
  ['double', '0x10'],
  ['boolean', 'yes'],
  ['dateTime', 'yesterday'],
  ['double', '1e400'],
  ['float', '3.5e38'],
  ['char', ''],
  ['char', 'abc'],
  ['duration', 'P'],
  ['duration', 'PT'],
  ['duration', '--PT1S'],
  ['duration', 'P10675200D'],
  ['duration', `P${'9'.repeat(1000)}D`],
  ['guid', '1'],
  ['toString', '1'],
  ['base64Binary', 'AA=='],
] as const) {
  test(`a ${type} of '${text}' is refused`, () => {
    assert.throws(
      () => readValue(type, text),
      (error) => error instanceof BrokerError && error.code === 'ArgumentError',
    );
  });
}

const RULES = '/t/Subscriptions/s/Rules';

async function startWithSubscription() {
  const atom = startAtom();
  await atom.call('PUT', '/t', { body: entry('TopicDescription') });
  await atom.call('PUT', '/t/Subscriptions/s', { body: entry('SubscriptionDescription') });
  return atom;
}

test('prefixes of types and the order of elements are irrelevant', async () => {
  const { call } = await startWithSubscription();
  const inner = `<Name>r1</Name><Action p4:type="EmptyRuleAction" xmlns:p4="http://www.w3.org/2001/XMLSchema-instance"/><Filter q:type="x:SqlFilter" xmlns:q="http://www.w3.org/2001/XMLSchema-instance" xmlns:x="urn:any"><Parameters><KeyValueOfstringanyType><Key>@p</Key><Value q:type="l28:long" xmlns:l28="http://www.w3.org/2001/XMLSchema">7</Value></KeyValueOfstringanyType></Parameters><SqlExpression>a &gt; @p</SqlExpression></Filter>`;
  const { status, text } = await call('PUT', `${RULES}/r1`, {
    body: entry('RuleDescription', inner),
  });
  assert.equal(status, 201);
  const shownRule = /<RuleDescription.*<\/RuleDescription>/.exec(text)?.[0];
  assert.equal(
    shownRule?.replace(/<CreatedAt>.*<\/CreatedAt>/, ''),
    '<RuleDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Filter i:type="SqlFilter"><SqlExpression>a &gt; @p</SqlExpression><CompatibilityLevel>20</CompatibilityLevel><Parameters><KeyValueOfstringanyType><Key>@p</Key><Value i:type="d6p1:int" xmlns:d6p1="http://www.w3.org/2001/XMLSchema">7</Value></KeyValueOfstringanyType></Parameters></Filter><Action i:type="EmptyRuleAction"/><Name>r1</Name></RuleDescription>',
  );
});

test('a correlation filter is returned in the order of the data contract', async () => {
  const { call } = await startWithSubscription();
  const conditions = ['ContentType', 'ReplyToSessionId', 'SessionId', 'Label', 'ReplyTo', 'To'];
  const inner = [...conditions, 'MessageId', 'CorrelationId']
    .map((n) => `<${n}>${n}</${n}>`)
    .join('');
  const body = entry('RuleDescription', `<Filter i:type="CorrelationFilter">${inner}</Filter>`);
  const { text } = await call('PUT', `${RULES}/c`, { body });
  const order = ['CorrelationId', 'MessageId', 'To', 'ReplyTo', 'Label', 'SessionId'];
  const expected = [...order, 'ReplyToSessionId', 'ContentType']
    .map((n) => `<${n}>${n}</${n}>`)
    .join('');
  assert.match(
    text,
    new RegExp(`<Filter i:type="CorrelationFilter">${expected}<Properties/></Filter>`),
  );
});

test('true and false filters keep their kind', async () => {
  const { call } = await startWithSubscription();
  for (const [type, expression] of [
    ['TrueFilter', '1=1'],
    ['FalseFilter', '1=0'],
  ] as const) {
    const filter = `<Filter i:type="${type}"><SqlExpression>${expression}</SqlExpression></Filter>`;
    const body = entry('RuleDescription', filter);
    const { text } = await call('PUT', `${RULES}/${type}`, { body });
    assert.ok(text.includes(`<Filter i:type="${type}"><SqlExpression>${expression}<`), text);
  }
});

for (const [what, inner] of [
  ['nothing', ''],
  ['a name only', '<Name>other</Name>'],
  ['a TrueFilter with parameters', '<Filter i:type="TrueFilter"><Parameters/></Filter>'],
] as const) {
  test(`a rule with ${what} matches every message, recorded by the Node client`, async () => {
    const { call } = await startWithSubscription();
    const body = entry('RuleDescription', inner);
    const { status, text } = await call('PUT', `${RULES}/every`, { body });
    assert.equal(status, 201);
    assert.match(
      text,
      /<RuleDescription [^>]*><Filter i:type="TrueFilter"><SqlExpression>1=1<\/SqlExpression><CompatibilityLevel>20<\/CompatibilityLevel><\/Filter><Action i:type="EmptyRuleAction"\/><CreatedAt>[^<]*<\/CreatedAt><Name>every<\/Name><\/RuleDescription>/,
    );
  });
}

test('the name of a rule is the one in the path, not in the description', async () => {
  const { call } = await startWithSubscription();
  const body = entry('RuleDescription', '<Filter i:type="TrueFilter"/><Name>other</Name>');
  assert.equal((await call('PUT', `${RULES}/mine`, { body })).status, 201);
  const { text } = await call('GET', '/T/SUBSCRIPTIONS/S/rules/MINE/');
  assert.match(text, /<Name>mine<\/Name>/);
  const { ids } = listed((await call('GET', `${RULES}/`)).text);
  assert.deepEqual(ids, [`${RULES}/$Default`, `${RULES}/mine`]);
});

test('an update keeps the spelling of the name and the time of creation', async () => {
  const { call } = await startWithSubscription();
  const first = await call('GET', `${RULES}/$Default`);
  const body = entry('RuleDescription', '<Filter i:type="FalseFilter"/>');
  const updated = await call('PUT', `${RULES}/$DEFAULT`, { body, ifMatch: '*' });
  assert.equal(updated.status, 200);
  assert.match(updated.text, /<Name>\$Default<\/Name>/);
  const createdAt = (text: string) => /<CreatedAt>.*?</.exec(text)?.[0];
  assert.equal(createdAt(updated.text), createdAt(first.text));
});

const BAD_RULES: Readonly<Record<string, readonly [inner: string, says: RegExp]>> = {
  'a filter without a type': ['<Filter/>', /type '' of Filter is not one of/],
  'an unknown filter': ['<Filter i:type="LuaFilter"/>', /type 'LuaFilter' of Filter/],
  'a type without its namespace': ['<Filter type="TrueFilter"/>', /type '' of Filter/],
  'an unknown action': [
    '<Filter i:type="TrueFilter"/><Action i:type="Delete"/>',
    /type 'Delete' of Action/,
  ],
  'an empty expression': ['<Filter i:type="SqlFilter"/>', /expression of the filter is not valid/],
  'a correlation filter without a condition': [
    '<Filter i:type="CorrelationFilter"/>',
    /needs at least one condition/,
  ],
  'a parameter without a value': [
    '<Filter i:type="SqlFilter"><SqlExpression>a = @b</SqlExpression></Filter>',
    /parameter @b has no value/,
  ],
  'a parameter without a key': [
    '<Filter i:type="SqlFilter"><Parameters><KeyValueOfstringanyType><Value>1</Value></KeyValueOfstringanyType></Parameters></Filter>',
    /lacks its Key or its Value/,
  ],
  'a value that holds elements': [
    '<Filter i:type="CorrelationFilter"><Properties><KeyValueOfstringanyType><Key>k</Key><Value><b>1</b></Value></KeyValueOfstringanyType></Properties></Filter>',
    /Value of 'k' in Properties must hold only text/,
  ],
  'a key given twice': [
    `<Filter i:type="CorrelationFilter"><Properties>${'<KeyValueOfstringanyType><Key>k</Key><Value>1</Value></KeyValueOfstringanyType>'.repeat(2)}</Properties></Filter>`,
    /key 'k' is in Properties twice/,
  ],
  'a value that is too long': [
    `<Filter i:type="CorrelationFilter"><Properties><KeyValueOfstringanyType><Key>k</Key><Value>${'x'.repeat(33_000)}</Value></KeyValueOfstringanyType></Properties></Filter>`,
    /33000 bytes long; the limit is 32768/,
  ],
  'two filters': ['<Filter i:type="TrueFilter"/><Filter i:type="TrueFilter"/>', /occurs 2 times/],
};

for (const [what, [inner, says]] of Object.entries(BAD_RULES)) {
  test(`a rule with ${what} is refused`, async () => {
    const { call } = await startWithSubscription();
    const { status, text } = await call('PUT', `${RULES}/x`, {
      body: entry('RuleDescription', inner),
    });
    assert.equal(status, 400);
    assert.match(text, says);
    assert.equal((await call('GET', `${RULES}/x`)).status, 404);
  });
}

test('a subscription with an invalid default rule is refused', async () => {
  const { call } = await startWithSubscription();
  const rule = '<DefaultRuleDescription><Filter i:type="SqlFilter"/></DefaultRuleDescription>';
  const body = entry('SubscriptionDescription', rule);
  assert.equal((await call('PUT', '/t/Subscriptions/x', { body })).status, 400);
  assert.equal((await call('GET', '/t/Subscriptions/x')).status, 404);
});
