import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, shown, startAtom } from '../../support/atom-client.ts';

const TOLERATED: Readonly<Record<string, string>> = {
  'an empty list of authorization rules': '<AuthorizationRules/>',
  'an empty text, which means none': '<UserMetadata></UserMetadata><ForwardTo/>',
  'an element that is nil': '<LockDuration i:nil="true"/>',
  'unknown elements': '<Future><Deep>1</Deep></Future><x:Y xmlns:x="urn:x"/>',
  'elements of another namespace': '<LockDuration xmlns="urn:other">nonsense</LockDuration>',
  'elements of responses only': '<MessageCount>9</MessageCount><CreatedAt>then</CreatedAt>',
};

for (const [what, inner] of Object.entries(TOLERATED)) {
  test(`${what} is accepted in a description`, async () => {
    const { call } = startAtom();
    const { status, text } = await call('PUT', '/q', { body: entry('QueueDescription', inner) });
    assert.equal(status, 201, text);
    assert.equal(shown(text)['LockDuration'], 'PT1M');
    assert.equal(shown(text)['MessageCount'], '0');
    assert.ok(!('UserMetadata' in shown(text)));
  });
}

const REFUSED: Readonly<Record<string, readonly [inner: string, says: RegExp]>> = {
  'an empty duration': ['<LockDuration/>', /element 'LockDuration' is empty; omit it/],
  'a duration in words': ['<LockDuration>soon</LockDuration>', /'soon' of LockDuration is not an/],
  'a number in words': ['<MaxDeliveryCount>ten</MaxDeliveryCount>', /is not a whole number/],
  'a number with a fraction': ['<MaxDeliveryCount>1.5</MaxDeliveryCount>', /not a whole number/],
  'an endless number': [`<MaxDeliveryCount>${'9'.repeat(400)}</MaxDeliveryCount>`, /not a whole/],
  'a wrong boolean': ['<RequiresSession>yes</RequiresSession>', /'yes' of RequiresSession is not/],
  'a status users cannot set': ['<Status>Deleting</Status>', /not one of Active, Disabled/],
  'an element twice': ['<Status>Active</Status>'.repeat(2), /'Status' occurs 2 times/],
  'elements where text belongs': ['<Status><b/></Status>', /'Status' must hold only text/],
  'an unknown right': [
    '<AuthorizationRules><AuthorizationRule><KeyName>k</KeyName><Rights><AccessRights>Own</AccessRights></Rights></AuthorizationRule></AuthorizationRules>',
    /access right 'Own' is not one of Send, Listen, Manage/,
  ],
};

for (const [what, [inner, says]] of Object.entries(REFUSED)) {
  test(`${what} is refused`, async () => {
    const { call } = startAtom();
    const { status, text } = await call('PUT', '/q', { body: entry('QueueDescription', inner) });
    assert.equal(status, 400);
    assert.match(text, /^<Error><Code>400<\/Code><Detail>SubCode=40000\. .* TrackingId:/s);
    assert.match(text, says);
    assert.equal((await call('GET', '/q')).status, 404);
  });
}

test('a body that is not an Atom entry is refused', async () => {
  const { call } = startAtom();
  const inner = '<QueueDescription/>';
  for (const body of [
    '',
    inner,
    '<entry xmlns="http://www.w3.org/2005/Atom"/>',
    `<entry xmlns="http://www.w3.org/2005/Atom"><content>${inner}</content></entry>`,
    entry('QueueDescription').replace('2005/Atom', '2006/Atom'),
    entry('QueueDescription').replace('servicebus/connect', 'servicebus/other'),
    entry('EventHubDescription'),
    entry('QueueDescription').replace('</content>', '<QueueDescription/></content>'),
    `<feed xmlns="http://www.w3.org/2005/Atom"/>`,
  ]) {
    assert.equal((await call('PUT', '/q', { body })).status, 400, body);
  }
});

/** Texts on which a careless regular expression takes time that grows with the square of their length. */
const LONG = 100_000;
const SLOW: Readonly<Record<string, readonly [path: string, body: string]>> = {
  'a destination of slashes': [
    '/q',
    entry('QueueDescription', `<ForwardTo>a${'/'.repeat(LONG)}b</ForwardTo>`),
  ],
  'a duration of digits': [
    '/q',
    entry('QueueDescription', `<LockDuration>P${'1'.repeat(LONG)}x</LockDuration>`),
  ],
  'a number of digits': [
    '/t/Subscriptions/s/Rules/r',
    entry(
      'RuleDescription',
      `<Filter i:type="CorrelationFilter"><Properties><KeyValueOfstringanyType><Key>k</Key><Value i:type="x:double">${'1'.repeat(LONG)}x</Value></KeyValueOfstringanyType></Properties></Filter>`,
    ),
  ],
  'a right among thousands': [
    '/q',
    entry(
      'QueueDescription',
      `<AuthorizationRules><AuthorizationRule><Rights>${'<AccessRights/>'.repeat(LONG / 20)}</Rights></AuthorizationRule></AuthorizationRules>`,
    ),
  ],
};

for (const [what, [path, body]] of Object.entries(SLOW)) {
  test(`${what} is refused quickly`, async () => {
    const { call } = startAtom();
    const startedAt = performance.now();
    const { status, text } = await call('PUT', path, { body });
    assert.ok(performance.now() - startedAt < 1000);
    assert.equal(status, 400);
    assert.ok(text.length < 1000, `${text.length} characters`);
  });
}
