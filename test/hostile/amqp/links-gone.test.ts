import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shutdown } from '../../../amqp/service/shutdown.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { fakeEntity, findableEntities } from '../../support/http-fixture.ts';
import { sourceOf, targetOf } from '../../support/raw-session.ts';

const LINKS = 20;
const turn = () => new Promise((resolve) => setImmediate(resolve));

for (const role of ['sender', 'receiver'] as const) {
  test(`row 1: a ${role} that detaches before its answer leaves nothing behind`, async (t) => {
    let listeners = 0;
    const { onBegin } = Shutdown.prototype;
    t.mock.method(Shutdown.prototype, 'onBegin', function (this: Shutdown, listener: () => void) {
      const stop = onBegin.call(this, listener);
      listeners++;
      return () => {
        listeners--;
        stop();
      };
    });
    let look = () => {};
    const looked = new Promise<void>((resolve) => {
      look = resolve;
    });
    const entities = findableEntities({ q: fakeEntity('q') });
    const find: typeof entities.find = async (key) => {
      await looked;
      return await entities.find(key);
    };
    const { connect, faults } = await startFakeGateway(t, { entities: { ...entities, find } });
    const { raw } = connect();
    const ends = role === 'sender' ? { target: targetOf('q') } : { source: sourceOf('q') };
    for (let i = 0; i < LINKS; i++) {
      const count = role === 'sender' ? { initialDeliveryCount: 0 } : {};
      raw.say({ kind: 'attach', name: `link-${i}`, handle: i, role, ...ends, ...count });
      raw.say({ kind: 'detach', handle: i, closed: true });
    }
    // Both frames arrive before the first is answered.
    raw.begin(1);
    while ((await raw.hear('begin')).remoteChannel !== 1);
    look();
    for (let i = 0; i < LINKS; i++) await raw.hear('detach');
    await turn();
    assert.equal(listeners, 0);
    // A link that has ended gets no credit either.
    const other = {
      name: 'other',
      handle: LINKS,
      role: 'sender',
      initialDeliveryCount: 0,
    } as const;
    raw.say({ kind: 'attach', target: targetOf('q'), ...other });
    assert.equal((await raw.hear('flow')).handle, LINKS);
    raw.destroy();
    while (listeners > 0) await turn();
    assert.deepEqual(faults, []);
  });
}
