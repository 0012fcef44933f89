import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AmqpValue, bool, described, int, list, NULL } from '../../../amqp/wire/value.ts';
import { RawSession, sessionSource } from '../../support/raw-session.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

const named = (value: AmqpValue) => described(0x137000000cn, value);
const FILTERS: Readonly<Record<string, AmqpValue>> = {
  'a number': int(5),
  'a truth value': bool(true),
  'a list': list([]),
  'a described number': named(int(5)),
};

for (const [what, filter] of Object.entries(FILTERS)) {
  test(`W13 ${what} as a session filter is refused, and locks no session`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
    expectStatus(await broker.send('q', 'body', { SessionId: 'another' }), 201);
    const session = RawSession.root(Number(new URL(broker.api.url).port));
    t.after(() => session.raw.destroy());
    const { handle } = await session.receiver(sessionSource('q', filter));
    session.credit(handle, 1);
    const said = await session.raw.hear('detach', 'transfer');
    assert.equal(said.kind === 'detach' && said.error?.condition, 'com.microsoft:argument-error');
    const next = await session.receiver(sessionSource('q', named(NULL)));
    session.credit(next.handle, 1);
    assert.equal((await session.raw.hear('detach', 'transfer')).kind, 'transfer');
  });
}
