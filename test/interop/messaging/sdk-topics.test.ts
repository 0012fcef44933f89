import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newName, receive, receiveNow, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

withBus('topics, subscriptions and rules', (bus) => {
  const newTopic = async (...subscriptions: readonly string[]) => {
    const topic = newName('topic');
    await bus.admin.createTopic(topic);
    for (const name of subscriptions) await bus.admin.createSubscription(topic, name);
    return topic;
  };

  test('every subscription gets its own copy', async () => {
    const topic = await newTopic('one', 'two');
    await bus.client.createSender(topic).sendMessages({ body: 'news', subject: 's' });
    for (const name of ['one', 'two']) {
      const receiver = bus.client.createReceiver(topic, name);
      const message = await receiveOne(receiver);
      assert.deepEqual([message.body, message.subject], ['news', 's']);
      await receiver.completeMessage(message);
      assert.deepEqual(await receiveNow(receiver), []);
    }
  });

  test('a dead letter of a subscription goes to its dead-letter queue', async () => {
    const topic = await newTopic('sub');
    await bus.client.createSender(topic).sendMessages({ body: 'bad' });
    const receiver = bus.client.createReceiver(topic, 'sub');
    await receiver.deadLetterMessage(await receiveOne(receiver));
    const dead = bus.client.createReceiver(topic, 'sub', { subQueueType: 'deadLetter' });
    assert.equal((await receiveOne(dead)).body, 'bad');
  });

  test('a message is scheduled at a topic and cancelled there', async () => {
    const topic = await newTopic('sub');
    const sender = bus.client.createSender(topic);
    const soon = new Date(Date.now() + 60_000);
    const [number] = await sender.scheduleMessages({ body: 'later' }, soon);
    assert.ok(number);
    const receiver = bus.client.createReceiver(topic, 'sub');
    assert.deepEqual(await receiver.peekMessages(10), []);
    await sender.cancelScheduledMessages(number);
    await assert.rejects(sender.cancelScheduledMessages(number), { code: 'MessageNotFound' });
  });

  test('rules are listed by name, created and deleted', async () => {
    const topic = await newTopic('sub');
    const rules = bus.client.createRuleManager(topic, 'sub');
    const names = async () => {
      const found: string[] = [];
      for await (const { name } of rules.listRules()) found.push(name);
      return found;
    };
    assert.deepEqual(await names(), ['$Default']);
    await rules.createRule('Small', { sqlExpression: "Colour = 'red'" });
    await rules.createRule('matching', {
      correlationId: 'c1',
      subject: 'the subject',
      applicationProperties: { size: 3, kind: 'big' },
    });
    const pages: string[][] = [];
    for await (const page of rules.listRules().byPage({ maxPageSize: 2 })) {
      pages.push(page.map(({ name }) => name));
    }
    assert.deepEqual(pages, [['$Default', 'matching'], ['Small']]);
    await rules.deleteRule('$Default');
    assert.deepEqual(await names(), ['matching', 'Small']);
  });

  test('a rule comes back as it was created', async () => {
    const topic = await newTopic('sub');
    const rules = bus.client.createRuleManager(topic, 'sub');
    await rules.createRule(
      'sql',
      { sqlExpression: 'size > 3' },
      { sqlExpression: "SET Colour = 'blue'" },
    );
    await rules.createRule('correlation', {
      correlationId: 'c1',
      messageId: 'm1',
      to: 'to',
      replyTo: 'reply',
      subject: 'subject',
      sessionId: 'session',
      replyToSessionId: 'reply-session',
      contentType: 'text/plain',
      applicationProperties: { text: 'x', number: 4 },
    });
    const found = new Map<string, unknown>();
    for await (const { name, filter, action } of rules.listRules()) {
      found.set(name, { filter, action });
    }
    assert.deepEqual(found.get('$Default'), {
      filter: { sqlExpression: '1=1' },
      action: {},
    });
    const sql = found.get('sql') as { filter: { sqlExpression: string }; action: object };
    assert.equal(sql.filter.sqlExpression, 'size > 3');
    assert.deepEqual(sql.action, { sqlExpression: "SET Colour = 'blue'" });
    const { filter } = found.get('correlation') as { filter: Record<string, unknown> };
    assert.equal(filter['correlationId'], 'c1');
    assert.equal(filter['subject'], 'subject');
    assert.equal(filter['contentType'], 'text/plain');
    assert.deepEqual(filter['applicationProperties'], { text: 'x', number: 4 });
  });

  test('rules decide what a subscription gets, and may change it', async () => {
    const topic = await newTopic('sub');
    const rules = bus.client.createRuleManager(topic, 'sub');
    await rules.deleteRule('$Default');
    await rules.createRule(
      'red',
      { sqlExpression: "Colour = 'red'" },
      { sqlExpression: 'SET n = 9' },
    );
    const sender = bus.client.createSender(topic);
    await sender.sendMessages([
      { body: 'red one', applicationProperties: { Colour: 'red' } },
      { body: 'blue one', applicationProperties: { Colour: 'blue' } },
    ]);
    const receiver = bus.client.createReceiver(topic, 'sub');
    const messages = await receive(receiver, 1);
    assert.deepEqual(
      messages.map(({ body, applicationProperties }) => [body, applicationProperties?.['n']]),
      [['red one', 9]],
    );
    assert.deepEqual(await receiveNow(receiver), []);
  });

  test('a rule that exists, that does not, and one that makes no sense', async () => {
    const topic = await newTopic('sub');
    const rules = bus.client.createRuleManager(topic, 'sub');
    await rules.createRule('one', { correlationId: 'c' });
    await assert.rejects(rules.createRule('one', { correlationId: 'c' }), {
      code: 'MessagingEntityAlreadyExists',
    });
    await assert.rejects(rules.deleteRule('none'), { code: 'MessagingEntityNotFound' });
    await assert.rejects(rules.createRule('bad', { sqlExpression: 'this is not' }));
  });

  test('sessions of a subscription', async () => {
    const topic = newName('topic');
    await bus.admin.createTopic(topic);
    await bus.admin.createSubscription(topic, 'sub', { requiresSession: true });
    await bus.client.createSender(topic).sendMessages({ body: 'one', sessionId: 'S' });
    const receiver = await bus.client.acceptNextSession(topic, 'sub');
    assert.equal(receiver.sessionId, 'S');
    assert.equal((await receiveOne(receiver)).body, 'one');
    await receiver.close();
  });

  test('a topic forwards to a queue', async () => {
    const topic = newName('topic');
    const queue = newName('target');
    await bus.admin.createQueue(queue);
    await bus.admin.createTopic(topic);
    await bus.admin.createSubscription(topic, 'sub', { forwardTo: queue });
    await bus.client.createSender(topic).sendMessages({ body: 'on its way' });
    const message = await receiveOne(bus.client.createReceiver(queue));
    assert.equal(message.body, 'on its way');
    assert.equal(message.enqueuedSequenceNumber, 1);
  });
});
