import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BETA } from '../versions.ts';
import { newQueue, newSessionQueue, receive, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

withBus('sessions', (bus) => {
  const inSession = (sessionId: string, ...texts: readonly string[]) =>
    texts.map((body) => ({ body, sessionId }));

  test('a named session hands out its own messages, in order', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages([...inSession('A', 'a1', 'a2'), ...inSession('B', 'b1')]);
    const receiver = await bus.client.acceptSession(name, 'A');
    assert.equal(receiver.sessionId, 'A');
    assert.ok(receiver.sessionLockedUntilUtc.getTime() > Date.now());
    const messages = await receive(receiver, 2);
    assert.deepEqual(
      messages.map(({ body, sessionId }) => [body, sessionId]),
      [
        ['a1', 'A'],
        ['a2', 'A'],
      ],
    );
    for (const message of messages) await receiver.completeMessage(message);
    assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs: 100 }), []);
    await receiver.close();
  });

  test('the next session is one that nobody holds', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages([...inSession('A', 'a'), ...inSession('B', 'b')]);
    const first = await bus.client.acceptNextSession(name);
    const second = await bus.client.acceptNextSession(name);
    assert.deepEqual([first.sessionId, second.sessionId].sort(), ['A', 'B']);
    await Promise.all([first.close(), second.close()]);
  });

  test('the next session is waited for', async () => {
    const { name, sender } = await newSessionQueue(bus);
    const waiting = bus.client.acceptNextSession(name);
    await sender.sendMessages(inSession('late', 'one'));
    const receiver = await waiting;
    assert.equal(receiver.sessionId, 'late');
    assert.equal((await receiveOne(receiver)).body, 'one');
    await receiver.close();
  });

  test('a session without messages can be accepted by name, and gets them when they come', async () => {
    const { name, sender } = await newSessionQueue(bus);
    const receiver = await bus.client.acceptSession(name, 'empty');
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 });
    await sender.sendMessages(inSession('empty', 'now'));
    assert.equal((await waiting)[0]?.body, 'now');
    await receiver.close();
  });

  test('a session that somebody holds cannot be accepted', async () => {
    const { name } = await newSessionQueue(bus);
    const receiver = await bus.client.acceptSession(name, 'mine');
    await assert.rejects(bus.client.acceptSession(name, 'mine'), {
      code: 'SessionCannotBeLocked',
    });
    await receiver.close();
  });

  test('a closed receiver gives its session back at once', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages(inSession('S', 'one'));
    const receiver = await bus.client.acceptSession(name, 'S');
    assert.equal((await receiveOne(receiver)).deliveryCount, 0);
    await receiver.close();
    const again = await bus.client.acceptSession(name, 'S');
    const message = await receiveOne(again);
    assert.deepEqual([message.body, message.deliveryCount], ['one', 0]);
    await again.completeMessage(message);
    await again.close();
  });

  test('the state of a session is kept from one holder to the next', async () => {
    const { name } = await newSessionQueue(bus);
    const receiver = await bus.client.acceptSession(name, 'S');
    assert.equal(await receiver.getSessionState(), null);
    await receiver.setSessionState({ step: 2 });
    assert.deepEqual(await receiver.getSessionState(), { step: 2 });
    await receiver.close();
    const again = await bus.client.acceptSession(name, 'S');
    assert.deepEqual(await again.getSessionState(), { step: 2 });
    await again.setSessionState(null);
    assert.equal(await again.getSessionState(), null);
    await again.close();
  });

  test('a session lock is renewed', async () => {
    const { name } = await newSessionQueue(bus, { lockDuration: 'PT5S' });
    const receiver = await bus.client.acceptSession(name, 'S');
    const before = receiver.sessionLockedUntilUtc.getTime();
    bus.namespace.advance(50);
    const until = await receiver.renewSessionLock();
    assert.ok(until.getTime() > before);
    assert.equal(receiver.sessionLockedUntilUtc.getTime(), until.getTime());
    await receiver.close();
  });

  test('a session whose lock has run out is lost', async () => {
    const { name, sender } = await newSessionQueue(bus, { lockDuration: 'PT5S' });
    await sender.sendMessages(inSession('S', 'one'));
    const receiver = await bus.client.acceptSession(name, 'S', {
      maxAutoLockRenewalDurationInMs: 0,
    });
    const message = await receiveOne(receiver);
    bus.namespace.advance(5500);
    await assert.rejects(receiver.completeMessage(message), { code: 'SessionLockLost' });
    const again = await bus.client.acceptSession(name, 'S');
    assert.equal((await receiveOne(again)).deliveryCount, 1);
    await again.close();
  });

  test('an empty session id goes with another partition key', async () => {
    const { name, sender } = await newSessionQueue(bus);
    for (const body of ['one', 'two']) {
      await sender.sendMessages({ body, sessionId: '', partitionKey: 'my-session' });
    }
    // 7.9.5 sends with an empty id, but takes a session that has one for none.
    const client = await bus.connect({ version: BETA });
    const named = await client.acceptSession(name, '');
    const message = await receiveOne(named);
    assert.deepEqual([message.body, message.sessionId], ['one', '']);
    assert.equal(message.partitionKey, 'my-session');
    await named.completeMessage(message);
    await named.close();
    const next = await client.acceptNextSession(name);
    assert.deepEqual([next.sessionId, (await receiveOne(next)).body], ['', 'two']);
  });

  test('a receive-and-delete that waits as long as its session is locked ends with nothing', async () => {
    const { name } = await newSessionQueue(bus, { lockDuration: 'PT5S' });
    const receiver = await bus.client.acceptSession(name, 'S', {
      receiveMode: 'receiveAndDelete',
      maxAutoLockRenewalDurationInMs: 0,
    });
    // The session has been locked for a while, which on a busy machine is longer than the gateway waits after a lock.
    const maxWaitTimeInMs = receiver.sessionLockedUntilUtc.getTime() - bus.namespace.now();
    assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs }), []);
    await receiver.close();
  });

  test('messages of a session are settled in every way', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages(inSession('S', 'abandon', 'defer', 'dead', 'done'));
    const receiver = await bus.client.acceptSession(name, 'S');
    const [abandon, defer, dead, done] = await receive(receiver, 4);
    assert.ok(abandon && defer && dead && done);
    await receiver.completeMessage(done);
    await receiver.deadLetterMessage(dead);
    await receiver.deferMessage(defer);
    await receiver.abandonMessage(abandon);
    assert.equal((await receiveOne(receiver)).body, 'abandon');
    assert.ok(defer.sequenceNumber);
    const [deferred] = await receiver.receiveDeferredMessages(defer.sequenceNumber);
    assert.equal(deferred?.body, 'defer');
    assert.ok(deferred);
    await receiver.completeMessage(deferred);
    await receiver.close();
    const deadLetters = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    const letter = await receiveOne(deadLetters);
    assert.deepEqual([letter.body, letter.sessionId], ['dead', 'S']);
  });

  test('a session shows its own messages only', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages([...inSession('A', 'a'), ...inSession('B', 'b')]);
    const receiver = await bus.client.acceptSession(name, 'A');
    const peeked = await receiver.peekMessages(10);
    assert.deepEqual(
      peeked.map(({ body }) => body),
      ['a'],
    );
    await receiver.close();
  });

  test('receive and delete works in a session', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages(inSession('A', 'a1', 'a2'));
    const receiver = await bus.client.acceptSession(name, 'A', { receiveMode: 'receiveAndDelete' });
    const messages = await receive(receiver, 2);
    assert.deepEqual(
      messages.map(({ body }) => body),
      ['a1', 'a2'],
    );
    assert.deepEqual(await receiver.peekMessages(5), []);
    await receiver.close();
  });

  test('a message without a session is refused by a queue that requires one', async () => {
    const { sender } = await newSessionQueue(bus);
    await assert.rejects(sender.sendMessages({ body: 'lost' }), /SessionId was not set/);
  });

  test('a receiver without a session is refused, and one with a session where there are none', async () => {
    const { name } = await newSessionQueue(bus);
    const receiver = bus.client.createReceiver(name);
    await assert.rejects(
      receiver.receiveMessages(1, { maxWaitTimeInMs: 500 }),
      /non-sessionful message receiver/,
    );
    const plain = await newQueue(bus);
    await assert.rejects(bus.client.acceptNextSession(plain.name), /sessionful message receiver/);
    // The client hears nothing but that it did not get the session it named.
    await assert.rejects(bus.client.acceptSession(plain.name, 'A'), {
      code: 'SessionCannotBeLocked',
    });
  });

  test('a subscribed session hands its messages over until it is closed', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages(inSession('A', 'a1', 'a2', 'a3'));
    const receiver = await bus.client.acceptSession(name, 'A');
    const seen: string[] = [];
    const done = new Promise<void>((resolve, reject) => {
      receiver.subscribe({
        processMessage: async ({ body }) => {
          seen.push(body);
          if (seen.length === 3) setTimeout(resolve, 100);
        },
        processError: async ({ error }) => reject(error),
      });
    });
    await done;
    assert.deepEqual(seen, ['a1', 'a2', 'a3']);
    await receiver.close();
    const again = await bus.client.acceptSession(name, 'A');
    assert.deepEqual(await again.peekMessages(5), []);
    await again.close();
  });
});

// Version 7.9.5 takes an empty id for none.
withBus(
  'sessions without a name',
  (bus) => {
    test('a session whose id is an empty text is a session too', async () => {
      const { name, sender } = await newSessionQueue(bus);
      await sender.sendMessages({ body: 'in none', sessionId: '' });
      const receiver = await bus.client.acceptSession(name, '');
      assert.equal(receiver.sessionId, '');
      const message = await receiveOne(receiver);
      assert.deepEqual([message.body, message.sessionId], ['in none', '']);
      await receiver.completeMessage(message);
      assert.deepEqual(await receiver.peekMessages(1), []);
      await receiver.close();
    });
  },
  { version: BETA },
);
