import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { protocolHeader } from '../../../amqp/wire/frames.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import { type AmqpValue, described, list, NULL, ubyte } from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { startNamespace, type TestNamespace } from '../../interop/start-namespace.ts';
import { watchDecodedValues } from '../../support/decoded-values.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { RawSession, sourceOf, targetOf } from '../../support/raw-session.ts';

const { unauthorized, performativeValues } = BUDGETS.connection;

const values = (count: number): AmqpValue => list(Array<AmqpValue>(count).fill(ubyte(7)));

/** An unauthorized connection. */
const stranger = (port: number) => new RawSession(RawAmqp.opened(port, 'ANONYMOUS'));

const reasonOf = (state: DeliveryState | undefined) =>
  state?.kind === 'rejected' ? state.error?.condition : undefined;

/** Resolves once a condition holds; checks it after each event. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

describe('unauthorized AMQP clients', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
  });
  after(async () => {
    await namespace.stop();
    assert.deepEqual(namespace.faults, []);
  });

  test('row 1: a performative with many values is refused, however few bytes it has', async () => {
    const { raw } = stranger(namespace.port);
    const [source, target] = [sourceOf('$cbs'), targetOf('$cbs')];
    const properties = values(performativeValues);
    raw.say({ kind: 'attach', name: 'l', handle: 0, role: 'receiver', source, target, properties });
    const { error } = await raw.hear('close');
    assert.equal(error?.condition, 'amqp:decode-error');
    assert.match(error?.description ?? '', /the limit is 1000/);
    raw.destroy();
  });

  test('row 1: an answered attach keeps no values, and a closed connection nothing', async (t) => {
    await until(() => namespace.memory.held === 0);
    const session = stranger(namespace.port);
    await session.raw.hear('begin');
    const keptValues = watchDecodedValues(t);
    for (let i = 0; i < unauthorized.links; i++) {
      const properties = values(performativeValues - 100);
      await session.attach('receiver', [sourceOf('$cbs'), targetOf('$cbs')], { properties });
    }
    const { connectionBytes, linkBytes, sessionBytes } = BUDGETS.weights;
    const least = connectionBytes + sessionBytes + unauthorized.links * linkBytes;
    await until(() => namespace.memory.held < least + 4096);
    const kept = await keptValues();
    assert.ok(kept < 100, `${kept} of ${unauthorized.links * performativeValues} values are kept`);
    session.raw.destroy();
    await until(() => namespace.memory.held === 0);
  });

  for (const [what, count] of [
    ['links', unauthorized.links],
    ['sessions', unauthorized.sessions],
  ] as const) {
    test(`row 3: an unauthorized client has at most ${count} ${what}`, async () => {
      const { raw } = stranger(namespace.port);
      for (let i = 0; i <= count; i++) {
        if (what === 'sessions') raw.begin(1 + i);
        else {
          const [source, target] = [sourceOf('$cbs'), targetOf('$cbs')];
          raw.say({ kind: 'attach', name: `l${i}`, handle: i, role: 'receiver', source, target });
        }
      }
      const { error } = await raw.hear('close');
      assert.equal(error?.condition, 'amqp:resource-limit-exceeded');
      assert.match(error?.description ?? '', new RegExp(`no more than ${count} ${what} until`));
      raw.destroy();
    });
  }

  for (const node of ['$cbs', 'nothing/$management']) {
    test(`row 4: a request to ${node} has the limits of unauthorized clients`, async () => {
      const session = stranger(namespace.port);
      const handle = await session.sender(targetOf(node));
      const large = await session.send(handle, Buffer.alloc(unauthorized.requestBytes + 1));
      assert.equal(reasonOf(large), 'amqp:link:message-size-exceeded');
      const body = list(Array<AmqpValue>(unauthorized.requestValues).fill(NULL));
      const many = writeSections({ body: [described(SECTION.value, body)] });
      assert.equal(reasonOf(await session.send(handle, many)), 'com.microsoft:argument-error');
      session.raw.destroy();
    });
  }

  test('row 1: bytes of an incomplete frame count as memory', async () => {
    await until(() => namespace.memory.held === 0);
    const { raw } = stranger(namespace.port);
    await raw.hear('begin');
    const empty = namespace.memory.held;
    raw.write(Buffer.concat([Buffer.from('0000ffff02000000', 'hex'), Buffer.alloc(30_000)]));
    await until(() => namespace.memory.held >= empty + 30_000);
    raw.destroy();
  });

  test('row 1: a connection that is not open accepts small frames only', async () => {
    const raw = new RawAmqp(namespace.port);
    raw.write(protocolHeader('amqp'));
    raw.write(Buffer.from('0000ffff02000000', 'hex'));
    assert.equal((await raw.hear('close')).error?.condition, 'amqp:decode-error');
  });

  test('row 1: of too many unauthorized connections the oldest is evicted', async () => {
    const open = () => {
      const raw = new RawAmqp(namespace.port);
      raw.write(protocolHeader('amqp'));
      return raw;
    };
    const authorized = RawSession.root(namespace.port);
    await authorized.raw.hear('begin');
    const all = Array.from({ length: BUDGETS.process.connectionsUnauthorized }, open);
    await until(() => all.every((raw) => raw.isGreeted));
    all.push(open());
    const [oldest] = all;
    assert.equal((await oldest?.hear('close'))?.error?.condition, 'amqp:resource-limit-exceeded');
    await authorized.sender(targetOf('$cbs'));
    for (const raw of [...all, authorized.raw]) raw.destroy();
  });
});
