import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { entry, listed, shown, startAtom } from '../../support/atom-client.ts';

const QUEUE = { body: entry('QueueDescription') };
const TOPIC = { body: entry('TopicDescription') };
const SUBSCRIPTION = { body: entry('SubscriptionDescription') };

test('#135 #136 a PUT without If-Match creates, and refuses an existing entity', async () => {
  const { call } = startAtom();
  assert.equal((await call('PUT', '/q', QUEUE)).status, 201);
  const again = await call('PUT', '/Q', QUEUE);
  assert.equal(again.status, 409);
  assert.match(
    again.text,
    /^<Error><Code>409<\/Code><Detail>SubCode=40900\. The messaging entity 'Q' already exists\. TrackingId:.*, SystemTracker:testns:Q, Timestamp:.*<\/Detail><\/Error>$/,
  );
});

test('#135 a PUT with If-Match replaces, and refuses a missing entity', async () => {
  const { call } = startAtom();
  assert.equal((await call('PUT', '/q', { ...QUEUE, ifMatch: '*' })).status, 404);
  await call('PUT', '/q', QUEUE);
  assert.equal((await call('PUT', '/q', { ...QUEUE, ifMatch: '*' })).status, 200);
});

test('an ETag is for one version: a second update with it is refused', async () => {
  const { call } = startAtom();
  const { etag } = await call('PUT', '/q', QUEUE);
  assert.match(etag ?? '', /^"[^"]+"$/);
  assert.equal((await call('GET', '/q')).etag, etag);
  const first = await call('PUT', '/q', { ...QUEUE, ifMatch: etag ?? '' });
  assert.equal(first.status, 200);
  assert.notEqual(first.etag, etag);
  const second = await call('PUT', '/q', { ...QUEUE, ifMatch: etag ?? '' });
  assert.equal(second.status, 412);
  assert.match(second.text, /The resource was changed meanwhile/);
  assert.equal((await call('DELETE', '/q', { ifMatch: etag ?? '' })).status, 412);
  const either = `"other", W/${first.etag}`;
  assert.equal((await call('DELETE', '/q', { ifMatch: either })).status, 200);
  // A new queue with the same name has another ETag.
  assert.notEqual((await call('PUT', '/q', QUEUE)).etag, etag);
});

test('a rule has ETags as well', async () => {
  const { call } = startAtom();
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  const path = '/t/Subscriptions/s/Rules/$Default';
  const { etag } = await call('GET', path);
  const rule = { body: entry('RuleDescription', '<Filter i:type="FalseFilter"/>') };
  assert.equal((await call('PUT', path, { ...rule, ifMatch: etag ?? '' })).status, 200);
  assert.equal((await call('PUT', path, { ...rule, ifMatch: etag ?? '' })).status, 412);
  assert.equal((await call('DELETE', path, { ifMatch: etag ?? '' })).status, 412);
  assert.equal((await call('DELETE', path)).status, 200);
});

test('#144 a queue and a topic cannot have the same name, nor replace each other', async () => {
  const { call } = startAtom();
  await call('PUT', '/name', TOPIC);
  assert.equal((await call('PUT', '/NAME', QUEUE)).status, 409);
  assert.equal((await call('PUT', '/name', { ...QUEUE, ifMatch: '*' })).status, 404);
  assert.match((await call('GET', '/name')).text, /<TopicDescription/);
});

test('a description that does not fit its path is refused', async () => {
  const { call } = startAtom();
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  const rule = { body: entry('RuleDescription', '<Filter i:type="TrueFilter"/>') };
  for (const [path, call_] of [
    ['/t/Subscriptions/x', QUEUE],
    ['/x', SUBSCRIPTION],
    ['/x', rule],
    ['/t/Subscriptions/s/Rules/x', QUEUE],
    ['/t/Subscriptions/s/Rules/', rule],
  ] as const) {
    assert.equal((await call('PUT', path, call_)).status, 400, path);
  }
  for (const path of ['/t/Subscriptions', '/$Resources/Queues', '/$namespaceinfo', '/']) {
    assert.equal((await call('PUT', path, QUEUE)).status, 405, path);
  }
});

test('#32 dead-letter queues cannot be created or deleted separately', async () => {
  const { call } = startAtom();
  await call('PUT', '/q', QUEUE);
  for (const path of ['/q/$DeadLetterQueue', '/q/$transfer/$deadletterqueue']) {
    assert.equal((await call('PUT', path, QUEUE)).status, 400);
    assert.equal((await call('DELETE', path)).status, 400);
    assert.equal((await call('GET', path)).status, 404);
  }
  assert.equal((await call('GET', '/q')).status, 200);
});

test('no entity can have the path of a message or session operation as its name', async () => {
  const { call } = startAtom();
  for (const path of ['/q/messages', '/q/Sessions/x', '/a/subscriptions/b/c']) {
    assert.equal((await call('PUT', path, QUEUE)).status, 400, path);
  }
  // An operation has this path, with other methods.
  assert.equal((await call('PUT', '/q/messages/head', QUEUE)).status, 405);
  assert.equal((await call('PUT', '/messages', QUEUE)).status, 201);
});

test('paths match regardless of case, trailing slashes and escapes', async () => {
  const { call } = startAtom();
  await call('PUT', '/Dir/T?api-version=2017-04', TOPIC);
  await call('PUT', '/dir/t/sUBSCRIPTIONS/S1?api-version=2024-05', SUBSCRIPTION);
  for (const path of ['/DIR/t/Subscriptions/s1', '/Dir%2ft/subscriptions/%531/']) {
    const { status, text } = await call('GET', path);
    assert.equal(status, 200);
    assert.match(
      text,
      /<id>http:\/\/localhost:5300\/Dir\/T\/Subscriptions\/S1\?api-version=2021-05</,
    );
    assert.match(text, /<title type="text">S1<\/title>/);
  }
  const { ids } = listed((await call('GET', '/dir/t/subscriptions/')).text);
  assert.deepEqual(ids, ['/Dir/T/Subscriptions/S1']);
  assert.equal((await call('GET', '/%zz')).status, 400);
});

test('#145 a list returns a page and a link to the next one', async () => {
  const { call } = startAtom();
  for (const name of ['c', 'B', 'a']) await call('PUT', `/${name}`, QUEUE);
  const middle = listed((await call('GET', '/$Resources/Queues?$skip=1&$top=1')).text);
  assert.deepEqual(middle.ids, ['/B']);
  assert.deepEqual(middle.links, {
    self: 'http://localhost:5300/$Resources/Queues?$skip=1&$top=1',
    next: 'http://localhost:5300/$Resources/Queues?%24skip=2&$top=1',
  });
  const last = listed((await call('GET', '/$resources/queues?%24skip=2&%24top=1')).text);
  assert.deepEqual(last.ids, ['/c']);
  assert.deepEqual(Object.keys(last.links), ['self']);
  assert.deepEqual(listed((await call('GET', '/$Resources/Topics')).text).ids, []);
  const beyond = listed((await call('GET', '/$Resources/Queues?$skip=99')).text);
  assert.deepEqual(beyond.ids, []);
});

test('a page has at most a hundred entities, whatever the request asks for', async () => {
  const { call, dependencies } = startAtom();
  for (let i = 0; i < 101; i++) await dependencies.management.create(`q${i}`, { kind: 'queue' });
  for (const query of ['', '?$top=100', '?$top=1000']) {
    const { ids, links } = listed((await call('GET', `/$Resources/Queues${query}`)).text);
    assert.equal(ids.length, 100);
    const url = `http://localhost:5300/$Resources/Queues${query}`;
    assert.equal(links['self'], url);
    assert.equal(links['next'], `${url}${query === '' ? '?' : '&'}%24skip=100`);
  }
});

for (const query of ['$skip=-1', '$top=0', '$top=x', '$skip=1.5', '$top=', '$skip=99999999999']) {
  test(`a list with ${query} is refused`, async () => {
    const { call } = startAtom();
    assert.equal((await call('GET', `/$Resources/Queues?${query}`)).status, 400);
  });
}

test('a missing entity is a 404 in every operation', async () => {
  const { call } = startAtom();
  await call('PUT', '/q', QUEUE);
  for (const path of ['/x', '/x/Subscriptions', '/q/Subscriptions', '/x/Subscriptions/s/Rules']) {
    const { status, text } = await call('GET', path);
    assert.equal(status, 404, path);
    assert.match(text, /<Code>404<\/Code><Detail>SubCode=40400\. The messaging entity '/);
  }
  assert.equal((await call('PUT', '/q/Subscriptions/s', SUBSCRIPTION)).status, 404);
  assert.equal((await call('DELETE', '/x')).status, 404);
});

test('deleting a topic deletes its subscriptions', async () => {
  const { call } = startAtom();
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  assert.equal(shown((await call('GET', '/t')).text)['SubscriptionCount'], '1');
  await call('DELETE', '/t');
  assert.equal((await call('GET', '/t/Subscriptions/s')).status, 404);
});

test('quotas of a namespace are enforced, and the error names them (semantics Q1)', async () => {
  const { call, dependencies } = startAtom();
  const rows = [
    [LIMITS.entitiesPerNamespace, 0, /`Queue or Topic` .* There are 10000; the limit is 10000\./],
    [100, 100, /SubCode=40300.*`EnablePartioning == true` .* There are 100; the limit is 100\./],
  ] as const;
  const body = entry('QueueDescription', '<EnablePartitioning>true</EnablePartitioning>');
  for (const [total, partitioned, says] of rows) {
    dependencies.counts.set({ entities: total, partitioned });
    const { status, text } = await call('PUT', '/q', { body });
    assert.equal(status, 403);
    assert.match(text, says);
  }
});

test('quotas of a topic are enforced, and the error names them (semantics Q5)', async () => {
  const { call, dependencies } = startAtom();
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  dependencies.counts.set({ subscriptions: 2000 });
  const one = await call('PUT', '/t/Subscriptions/s2', SUBSCRIPTION);
  assert.equal(one.status, 403);
  assert.match(one.text, /`Subscription` has been reached or exceeded\. There are 2000; the limit/);
  dependencies.counts.set({ sqlFilters: 2000, correlationFilters: 100_000 });
  const sql = '<Filter i:type="SqlFilter"><SqlExpression>a=1</SqlExpression></Filter>';
  const correlation = '<Filter i:type="CorrelationFilter"><To>x</To></Filter>';
  for (const [inner, status] of [
    [sql, 403],
    [correlation, 403],
    ['<Filter i:type="TrueFilter"/>', 201],
  ] as const) {
    const body = entry('RuleDescription', inner);
    assert.equal((await call('PUT', '/t/Subscriptions/s/Rules/r', { body })).status, status);
  }
});

test('a queue or a topic can be a destination of forwarding, and nothing else', async () => {
  const { call } = startAtom();
  await call('PUT', '/q', QUEUE);
  await call('PUT', '/t', TOPIC);
  await call('PUT', '/t/Subscriptions/s', SUBSCRIPTION);
  const to = (name: string) => ({
    body: entry('QueueDescription', `<ForwardTo>${name}</ForwardTo>`),
  });
  assert.equal((await call('PUT', '/a', to('T'))).status, 201);
  assert.equal((await call('PUT', '/b', to('q'))).status, 201);
  for (const name of ['t/Subscriptions/s', 'nope']) {
    const { status, text } = await call('PUT', '/c', to(name));
    assert.equal(status, 400);
    assert.match(text, /SubCode=40400\. The auto forwarding destination entity doesn't exist\./);
  }
});

test('the namespace returns its name and tier', async () => {
  const { call } = startAtom();
  const { status, text } = await call('GET', '/$NamespaceInfo?api-version=2021-05');
  assert.equal(status, 200);
  const { Name, MessagingSKU, NamespaceType } = shown(text);
  assert.deepEqual(
    { Name, MessagingSKU, NamespaceType },
    {
      Name: 'testns',
      MessagingSKU: 'Standard',
      NamespaceType: 'Messaging',
    },
  );
});

test('a request for / without a token gets an empty feed of publicly listed entities', async () => {
  const { call } = startAtom();
  const { status, text } = await call('GET', '/', { authorization: '' });
  assert.equal(status, 200);
  assert.match(text, /<title type="text">Publicly Listed Services<\/title>/);
  assert.deepEqual(listed(text).ids, []);
});
