import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { ProcessErrorArgs, ServiceBusClient } from '@azure/service-bus';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { type LocalNamespaces, startLocalNamespaces } from '../../local/local-namespaces.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { dataMessage, dataOf, RawSession, sourceOf, targetOf } from '../../support/raw-session.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { VERSION_IN_FULL } from '../versions.ts';
import { receiveNow, receiveOne } from './bus-entities.ts';
import { BUS_CLIENTS } from './service-bus-clients.ts';

const HOUR_S = 3600;
const ROOT = 'RootManageSharedAccessKey';
const ENTITY_KEY = 'k'.repeat(44);
/** Beyond the pauses of the client between its own tries. */
const WAIT_MS = 20_000;

describe('several namespaces over AMQP', () => {
  let local: LocalNamespaces;
  before(async () => {
    local = await startLocalNamespaces();
  });
  after(() => local.server.stop());

  const connect = (t: TestContext, connectionString: string): ServiceBusClient => {
    const client = BUS_CLIENTS[VERSION_IN_FULL](connectionString);
    t.after(() => client.close());
    return client;
  };
  const connected = async (t: TestContext) => {
    const namespace = local.fresh();
    await namespace.createQueue('q');
    return { namespace, client: connect(t, namespace.connectionString()) };
  };
  const session = (t: TestContext, raw: RawAmqp) => {
    t.after(() => raw.destroy());
    return new RawSession(raw);
  };
  const anonymous = (t: TestContext) => session(t, RawAmqp.opened(local.port, 'ANONYMOUS'));
  const tokenFor = (keyName: string, key = ROOT_KEY) => {
    const expiresAt = Date.now() + HOUR_S * 1000;
    return createSasToken({ audience: 'sb://localhost/q', keyName, key, expiresAt });
  };

  test('queues of the same name are apart, and so are the clocks', async (t) => {
    const [one, two] = [await connected(t), await connected(t)];
    for (const { client } of [one, two]) {
      const sender = client.createSender('q');
      await sender.sendMessages({ body: 'locked' });
      await sender.scheduleMessages({ body: 'later' }, new Date(Date.now() + HOUR_S * 1000));
    }
    const receivers = [one.client.createReceiver('q'), two.client.createReceiver('q')] as const;
    for (const receiver of receivers) assert.equal((await receiveOne(receiver)).body, 'locked');
    await one.namespace.advance(2 * HOUR_S);
    const again = await receiveOne(receivers[0]);
    assert.deepEqual([again.body, again.deliveryCount], ['locked', 1]);
    assert.equal((await receiveOne(receivers[0])).body, 'later');
    assert.deepEqual(await receiveNow(receivers[1]), []);
  });

  test('the administration client works in a namespace of its own', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    await administrationOf(one.connectionString()).createQueue('q');
    assert.equal(await administrationOf(one.connectionString()).queueExists('q'), true);
    assert.equal(await administrationOf(two.connectionString()).queueExists('q'), false);
    const { name } = await administrationOf(one.connectionString()).getNamespaceProperties();
    assert.equal(name, one.name);
  });

  test('a Listen-only rule of an entity receives, and does not send', async (t) => {
    const namespace = local.fresh();
    const rule = { keyName: 'listenOnly', primaryKey: ENTITY_KEY, secondaryKey: ENTITY_KEY };
    const admin = administrationOf(namespace.connectionString());
    await admin.createQueue('q', {
      authorizationRules: [{ ...rule, claimType: 'SharedAccessKey', accessRights: ['Listen'] }],
    });
    await namespace.send('q', 'for the listener');
    const client = connect(t, namespace.connectionString('listenOnly', ENTITY_KEY));
    assert.equal(String((await receiveOne(client.createReceiver('q'))).body), 'for the listener');
    await assert.rejects(client.createSender('q').sendMessages({ body: 'x' }), {
      code: 'UnauthorizedAccess',
    });
  });

  test('a connection stays with its namespace: a token of another one is refused', async (t) => {
    const [one, two] = [local.fresh(), local.fresh()];
    for (const namespace of [one, two]) await namespace.createQueue('q');
    const connection = anonymous(t);
    const put = (keyName: string) => connection.putToken(tokenFor(keyName), 'sb://localhost/q');
    assert.equal(await put(one.ruleName()), 202);
    assert.equal(await put(two.ruleName()), 401);
    assert.equal(await put(ROOT), 401);
    await two.send('q', 'of two');
    await one.send('q', 'of one');
    const { handle } = await connection.receiver(sourceOf('q'));
    connection.credit(handle, 2);
    assert.equal(dataOf((await connection.raw.hear('transfer')).payload), 'of one');
  });

  test('after a refused token, a connection may still choose its namespace', async (t) => {
    const namespace = local.fresh();
    await namespace.createQueue('q');
    const connection = anonymous(t);
    const put = (...token: Parameters<typeof tokenFor>) =>
      connection.putToken(tokenFor(...token), 'sb://localhost/q');
    assert.equal(await put(local.fresh().ruleName(), 'wrong'), 401);
    assert.equal(await put(`${ROOT}@a_b`), 401);
    assert.equal(await put(namespace.ruleName()), 202);
  });

  test('tokens with wrong keys begin no namespace', async (t) => {
    const stranger = local.fresh();
    const connection = anonymous(t);
    for (const rule of [ROOT, 'listenOnly']) {
      const token = tokenFor(stranger.ruleName(rule), 'wrong');
      assert.equal(await connection.putToken(token, 'sb://localhost/q'), 401);
    }
    const plain = session(t, RawAmqp.authenticated(local.port, stranger.ruleName('r'), 'wrong'));
    assert.equal((await plain.receiver(sourceOf('q'))).kind, 'attach');
    assert.equal((await plain.raw.hear('detach')).error?.condition, 'amqp:unauthorized-access');
    const { json } = await local.of().control('GET', '$namespaces');
    const names = (json as readonly { readonly name: string }[]).map(({ name }) => name);
    assert.ok(!names.includes(stranger.name ?? ''));
  });

  test('SASL PLAIN with a rule of an entity that may only send reaches its namespace', async (t) => {
    const namespace = local.fresh();
    const rule = { keyName: 'sendOnly', primaryKey: ENTITY_KEY, secondaryKey: ENTITY_KEY };
    await administrationOf(namespace.connectionString()).createQueue('q', {
      authorizationRules: [{ ...rule, claimType: 'SharedAccessKey', accessRights: ['Send'] }],
    });
    const plain = session(
      t,
      RawAmqp.authenticated(local.port, namespace.ruleName('sendOnly'), ENTITY_KEY),
    );
    const handle = await plain.sender(targetOf('q'));
    assert.equal((await plain.send(handle, dataMessage('by raw')))?.kind, 'accepted');
    assert.equal(await namespace.take('q'), 'by raw');
  });

  for (const [what, keyName, key] of [
    ['a wrong key of the root rule', `${ROOT}@test-1`, 'wrong'],
    ['a name that no namespace can have', `${ROOT}@a_b`, ROOT_KEY],
  ] as const) {
    test(`SASL PLAIN with ${what} is refused`, async (t) => {
      const { raw } = session(t, RawAmqp.authenticated(local.port, keyName, key));
      await assert.rejects(raw.hear('open'), /The connection has ended/);
    });
  }

  test('connections of a deleted namespace are closed, and say why', async (t) => {
    const [one, two] = [local.fresh(), local.fresh()];
    const raws = [one, two].map((namespace) =>
      session(t, RawAmqp.authenticated(local.port, namespace.ruleName(), ROOT_KEY)),
    );
    for (const namespace of [one, two]) await namespace.createQueue('q');
    const [ofOne, ofTwo] = raws;
    assert.ok(ofOne && ofTwo);
    await ofOne.receiver(sourceOf('q'));
    assert.equal((await one.control('DELETE', '$namespace')).status, 204);
    const { error } = await ofOne.raw.hear('close');
    assert.equal(error?.condition, 'amqp:connection:forced');
    assert.equal(error?.description, `The namespace '${one.name}' was deleted.`);
    await ofTwo.receiver(sourceOf('q'));
  });

  test('senders, receivers and subscribers go on after a reset', async (t) => {
    const { namespace, client, messages, errors } = await withSubscriber(t);
    const sender = client.createSender('q');
    const other = client.createSender('topic');
    const receiver = client.createReceiver('topic', 'sub');
    await sender.sendMessages({ body: 'before' });
    await other.sendMessages({ body: 'before', applicationProperties: { wanted: true } });
    assert.equal(await messages.next(), 'before');
    assert.equal((await receiveOne(receiver)).body, 'before');

    for (const round of ['first', 'second']) {
      await namespace.reset();
      await sender.sendMessages({ body: round });
      assert.equal(await messages.next(), round);
      assert.deepEqual(await receiveNow(receiver), []);
      await other.sendMessages({ body: 'unwanted', applicationProperties: { wanted: false } });
      await other.sendMessages({ body: round, applicationProperties: { wanted: true } });
      assert.equal((await receiveOne(receiver)).body, round);
    }
    assert.deepEqual(errors, []);
  });

  test('a receiver that waits during a reset gets what is sent after it', async (t) => {
    const { namespace, client } = await withSubscriber(t);
    const receiver = client.createReceiver('topic', 'sub');
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: WAIT_MS });
    // The receiver's link is open once another one, which came later, is.
    await receiveNow(client.createReceiver('topic', 'sub'));
    await namespace.reset();
    const sender = client.createSender('topic');
    await sender.sendMessages({ body: 'after', applicationProperties: { wanted: true } });
    const [message] = await waiting;
    assert.equal(message?.body, 'after');
    await receiver.completeMessage(message);
  });

  test('a lock ends with a reset, and the reset queue counts from the beginning', async (t) => {
    const { namespace, client } = await withSubscriber(t);
    const sender = client.createSender('topic');
    const receiver = client.createReceiver('topic', 'sub');
    const send = () => sender.sendMessages({ body: 'x', applicationProperties: { wanted: true } });
    await send();
    const held = await receiveOne(receiver);
    await namespace.reset();
    await assert.rejects(receiver.completeMessage(held), { code: 'MessageLockLost' });
    await send();
    const next = await receiveOne(receiver);
    assert.deepEqual([next.deliveryCount, String(next.sequenceNumber)], [0, '1']);
  });

  test('a session, its lock and its state end with a reset', async (t) => {
    const { namespace, client } = await withSubscriber(t);
    const held = await client.acceptSession('sessions', 's');
    await held.setSessionState('kept');
    await namespace.reset();
    await assert.rejects(held.getSessionState(), { code: 'SessionLockLost' });
    const again = await client.acceptSession('sessions', 's');
    assert.equal((await again.getSessionState()) ?? undefined, undefined);
  });

  /** A queue with a subscriber, and a topic with a subscription that has a filter, both declared. */
  const withSubscriber = async (t: TestContext) => {
    const namespace = local.fresh();
    const defaultRule = { name: 'wanted', filter: WANTED };
    const { status, json } = await namespace.control('PUT', '$config', [
      ['q', { kind: 'queue' }],
      ['sessions', { kind: 'queue', requiresSession: true }],
      ['topic', { kind: 'topic' }],
      ['topic/subscriptions/sub', { kind: 'subscription', defaultRule }],
    ]);
    assert.equal(status, 200, JSON.stringify(json));
    const client = connect(t, namespace.connectionString());
    const messages = new Arrivals();
    const errors: ProcessErrorArgs[] = [];
    client.createReceiver('q').subscribe({
      processMessage: async ({ body }) => messages.add(body),
      processError: async (error) => {
        errors.push(error);
      },
    });
    return { namespace, client, messages, errors };
  };
});

const WANTED = { kind: 'sql', expression: 'wanted = TRUE', parameters: {} } as const;

/** What a subscriber got, in order. */
class Arrivals {
  readonly #bodies: unknown[] = [];
  #wake: () => void = () => {};

  add(body: unknown): void {
    this.#bodies.push(body);
    this.#wake();
  }

  async next(): Promise<unknown> {
    while (this.#bodies.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#bodies.shift();
  }
}
