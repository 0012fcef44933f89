import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { all, plain, withAdministration } from './admin-clients.ts';

const NO_ACTION = { sqlExpression: undefined, sqlParameters: undefined };

const PARAMETERS = {
  '@number': 1.5,
  '@whole': 42,
  '@large': 9_007_199_254_740_991,
  '@text': 'b <&> "ue"',
  '@yes': true,
  '@no': false,
  // The clients send and read dates, though their types do not say so.
  '@when': new Date('2024-05-06T07:08:09.123Z') as unknown as string,
};

const CORRELATION = {
  correlationId: 'abcd',
  subject: 'lbl',
  to: 't',
  replyTo: 'r',
  replyToSessionId: 'rs',
  sessionId: 's',
  messageId: 'm',
  contentType: 'ct',
  applicationProperties: { text: 'v', number: 2, flag: true, at: new Date(86_400_000) },
};

withAdministration('rules', (connected) => {
  before(async () => {
    await connected.client.createTopic('t');
    await connected.client.createSubscription('t', 's');
  });

  test('a new subscription has one rule that lets everything in', async () => {
    const { client } = connected;
    await client.createSubscription('t', 'fresh');
    const expected = {
      name: '$Default',
      filter: { sqlExpression: '1=1', sqlParameters: undefined },
      action: NO_ACTION,
    };
    assert.deepEqual(await all(client.listRules('t', 'fresh')), [expected]);
    assert.deepEqual(plain(await client.getRule('t', 'fresh', '$Default')), expected);
  });

  test('a subscription may be given another first rule', async () => {
    const { client } = connected;
    const rule = {
      name: 'blues',
      filter: { sqlExpression: 'color = @c', sqlParameters: { '@c': 'blue' } },
      action: { sqlExpression: 'SET x = 1' },
    };
    await client.createSubscription('t', 'chosen', { defaultRuleOptions: rule });
    assert.deepEqual(await all(client.listRules('t', 'chosen')), [
      { ...rule, action: { sqlExpression: 'SET x = 1', sqlParameters: undefined } },
    ]);
    // An update says nothing of rules; they stay.
    await client.updateSubscription(await client.getSubscription('t', 'chosen'));
    assert.equal((await all(client.listRules('t', 'chosen'))).length, 1);
  });

  test('a SQL filter and action come back with the values of their parameters', async () => {
    const { client } = connected;
    const names = Object.keys(PARAMETERS);
    const filter = {
      sqlExpression: names.map((name) => `p = ${name}`).join(' OR '),
      sqlParameters: PARAMETERS,
    };
    const action = {
      sqlExpression: "SET a = 'b'; SET c = @text",
      sqlParameters: { '@text': 'x' },
    };
    const expected = { name: 'sql', filter, action };
    assert.deepEqual(plain(await client.createRule('t', 's', 'sql', filter, action)), expected);
    assert.deepEqual(plain(await client.getRule('t', 's', 'sql')), expected);
    const listed = await all(client.listRules('t', 's'));
    assert.deepEqual(
      listed.find(({ name }) => name === 'sql'),
      expected,
    );
  });

  test('a correlation filter comes back with all of its conditions', async () => {
    const { client } = connected;
    const created = plain(await client.createRule('t', 's', 'correlation', CORRELATION));
    const expected = { name: 'correlation', filter: CORRELATION, action: NO_ACTION };
    assert.deepEqual(created, expected);
    assert.deepEqual(plain(await client.getRule('t', 's', 'correlation')), expected);
  });

  test('one condition is enough for a correlation filter', async () => {
    const { client } = connected;
    const { filter } = await client.createRule('t', 's', 'one', { subject: 'x' });
    const given = Object.entries(filter).filter(([, value]) => value !== undefined);
    assert.deepEqual(given, [['subject', 'x']]);
  });

  test('an update replaces filter and action', async () => {
    const { client } = connected;
    const rule = await client.createRule('t', 's', 'changing', { sqlExpression: 'a = 1' });
    const updated = await client.updateRule('t', 's', {
      ...rule,
      filter: { sqlExpression: 'a = 2' },
      action: { sqlExpression: 'REMOVE a' },
    });
    assert.deepEqual(plain(updated), {
      name: 'changing',
      filter: { sqlExpression: 'a = 2', sqlParameters: undefined },
      action: { sqlExpression: 'REMOVE a', sqlParameters: undefined },
    });
    assert.deepEqual(plain(await client.getRule('t', 's', 'changing')), plain(updated));
  });

  test('a deleted rule is gone, the default one too', async () => {
    const { client } = connected;
    await client.createSubscription('t', 'emptied');
    assert.equal(await client.ruleExists('t', 'emptied', '$Default'), true);
    await client.deleteRule('t', 'emptied', '$Default');
    assert.equal(await client.ruleExists('t', 'emptied', '$Default'), false);
    assert.deepEqual(await all(client.listRules('t', 'emptied')), []);
  });

  test('rules are listed in order of their creation, in pages', async () => {
    const { client } = connected;
    await client.createSubscription('t', 'paged');
    for (const name of ['c', 'a', 'b']) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await client.createRule('t', 'paged', name, { sqlExpression: 'x = 1' });
    }
    const pages: string[][] = [];
    for await (const page of client.listRules('t', 'paged').byPage({ maxPageSize: 3 })) {
      pages.push(page.map(({ name }) => name));
    }
    assert.deepEqual(pages, [['$Default', 'c', 'a'], ['b']]);
  });
});
