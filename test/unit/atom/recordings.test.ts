import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, listed, shown, startAtom } from '../../support/atom-client.ts';

/** Behaviour that recordings of the service in the repositories of its clients contain. */

const QUEUE = { body: entry('QueueDescription') };
const TOPIC = { body: entry('TopicDescription') };
const SUBSCRIPTION = { body: entry('SubscriptionDescription') };

for (const query of [
  '?%24top=2&api-version=2016-07',
  '?$top=2&%24skip=0&api-version=2016-07',
  '?api-version=2021-05&$skip=0&%24top=2&enrich=False',
  '?%24%73kip=0&$top=2',
]) {
  test(`a list that the Node client requests with ${query} has this URL as its id`, async () => {
    const { call } = startAtom();
    for (const name of ['a', 'b', 'c']) await call('PUT', `/${name}`, QUEUE);
    for (const path of ['/$resources/Queues', '/$Resources/Queues/']) {
      const { text } = await call('GET', `${path}${query}`);
      const url = `http://localhost:5300${path}${query}`;
      const { self, next = '' } = listed(text).links;
      assert.equal(self, url);
      assert.match(
        text,
        new RegExp(`<id>${url.replace(/[$?.]/g, '\\$&').replaceAll('&', '&amp;')}</id>`),
      );
      assert.match(next, /%24skip=2(&|$)/);
      const withoutSkip = (text: string) => text.replace(/&?(%24|\$)(s|%73)kip=\d/, '');
      assert.equal(withoutSkip(next), withoutSkip(url));
      assert.deepEqual(listed((await call('GET', next.slice(21))).text).ids, ['/c']);
    }
  });
}

test('the Node client of 2014 gets back the size that it sent, and later clients the actual size', async () => {
  const { call } = startAtom();
  const body = entry('TopicDescription', '<SizeInBytes>1024</SizeInBytes>');
  for (const [version, size] of [
    ['?api-version=2016-07', '1024'],
    ['?api-version=2021-05', '0'],
    ['', '0'],
  ] as const) {
    const { text } = await call('PUT', `/t${version}`, { body });
    assert.equal(shown(text)['SizeInBytes'], size);
    assert.equal(shown((await call('GET', '/t')).text)['SizeInBytes'], '0');
    await call('DELETE', '/t');
  }
});

test('an update makes an entity express, recorded by the Python client', async () => {
  const { call } = startAtom();
  for (const [path, kind] of [
    ['/q', 'QueueDescription'],
    ['/t', 'TopicDescription'],
  ] as const) {
    await call('PUT', path, { body: entry(kind) });
    const body = entry(kind, '<EnableExpress>true</EnableExpress>');
    assert.equal((await call('PUT', path, { body, ifMatch: '*' })).status, 200);
    assert.equal(shown((await call('GET', path)).text)['EnableExpress'], 'true');
  }
});

test('a deletion of a missing entity is refused in the words of the service, as recorded', async () => {
  const { call } = startAtom();
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  const NONE =
    /^<Error><Code>404<\/Code><Detail>No service is hosted at the specified address\. Tracking/;
  const NOT_FOUND = /The messaging entity '.*' could not be found/;
  for (const [path, sentence] of [
    ['/x', NONE],
    ['/x/Subscriptions/s', NONE],
    ['/t/Subscriptions/x', NOT_FOUND],
    ['/t/Subscriptions/s/Rules/x', /Code>404</],
  ] as const) {
    const { status, text } = await call('DELETE', path);
    assert.equal(status, 404);
    assert.match(text, sentence);
  }
});

const RULE = '/t/Subscriptions/s/Rules/r';
const DATES = ['2020-07-05T11:12:13', '2024-09-06T21:27:00.5918843Z', '2020-07-05T11:12:13+02:00'];
const dated = (text: string) =>
  `<KeyValueOfstringanyType><Key>@at</Key><Value i:type="d6p1:dateTime" xmlns:d6p1="http://www.w3.org/2001/XMLSchema">${text}</Value></KeyValueOfstringanyType>`;

for (const text of DATES) {
  test(`the dateTime '${text}' of the Python and .NET clients is returned unchanged`, async () => {
    const { call } = startAtom();
    await call('PUT', '/t', TOPIC);
    await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
    const filter = `<Filter i:type="CorrelationFilter"><Properties>${dated(text)}</Properties></Filter>`;
    const action = `<Action i:type="SqlRuleAction"><SqlExpression>SET a = @at</SqlExpression><Parameters>${dated(text)}</Parameters></Action>`;
    const body = entry('RuleDescription', filter + action);
    const put = await call('PUT', RULE, { body });
    for (const { text: answer } of [put, await call('GET', RULE)]) {
      assert.equal(answer.split(dated(text)).length, 3, answer);
    }
  });
}
