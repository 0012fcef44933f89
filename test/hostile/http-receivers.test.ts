import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../lambdas/http/sas-token.ts';
import { ROOT_KEY, startBroker } from '../support/start-broker.ts';

for (const mode of ['POST', 'DELETE'] as const) {
  test(`row 12: a ${mode} that waits is given nothing once its token has expired`, async (t) => {
    const bus = await startBroker(t);
    await bus.createQueue('q');
    const audience = `${bus.api.url}/q`;
    const expiresAt = bus.clock.now() + 30_000;
    const keyName = 'RootManageSharedAccessKey';
    const token = createSasToken({ audience, keyName, key: ROOT_KEY, expiresAt });
    const waiting = fetch(`${audience}/messages/head?timeout=60`, {
      method: mode,
      headers: { Authorization: token },
    });
    // By then the other one waits.
    for (let round = 0; round < 3; round++) assert.equal(await bus.peekLock('q'), undefined);
    bus.clock.advance({ seconds: 31 });
    await bus.send('q', 'late');
    const answer = await waiting;
    assert.equal(answer.status, 401);
    assert.match(await answer.text(), /40106/);
    assert.equal((await bus.peekLock('q'))?.body, 'late');
  });
}
