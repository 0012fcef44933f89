import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';

/** A client that disconnects during an upload is not reported: unauthorized clients could fill the log. */

for (const [who, path, length] of [
  ['a sender of a short body', 'q/messages', 1000],
  ['a sender of a long body', 'q/messages', 100_000],
  ['an unauthorized client', '$transactions', 1000],
] as const) {
  test(`row 23: an upload that ${who} cuts off is not reported`, async (t) => {
    const bus = await startBroker(t);
    await bus.createQueue('q');
    const written = t.mock.method(process.stderr, 'write', () => true);
    const key = who === 'an unauthorized client' ? 'a guess' : ROOT_KEY;
    const authorization = createSasToken({
      audience: bus.api.url,
      keyName: 'RootManageSharedAccessKey',
      key,
      expiresAt: bus.clock.now() + 60_000,
    });
    const socket = connect(Number(new URL(bus.api.url).port), '127.0.0.1');
    socket.write(
      `POST /${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Length: ${length}\r\n\r\nonly this`,
    );
    for (let round = 0; round < 5; round++) await bus.request('GET', 'q');
    socket.destroy();
    await once(socket, 'close');
    for (let round = 0; round < 5; round++) await bus.request('GET', 'q');
    const lines = written.mock.calls.map(({ arguments: [line] }) => String(line));
    written.mock.restore();
    assert.deepEqual(lines, []);
  });
}
