import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { engineClient, ROOT_KEY, startBroker } from '../../support/start-broker.ts';

/** Resolves after the next query for messages. */
function nextLook(client: DynamoDBClient): Promise<void> {
  return new Promise((resolve) => {
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          const answer = await next(args);
          if (commandName === 'QueryCommand') resolve();
          return answer;
        },
      { step: 'initialize' },
    );
  });
}

for (const mode of ['POST', 'DELETE'] as const) {
  test(`row 12: a waiting ${mode} gets no message once its token has expired`, async (t) => {
    const client = engineClient();
    t.after(() => client.destroy());
    const bus = await startBroker(t, { client });
    await bus.createQueue('q');
    const looked = nextLook(client);
    const audience = `${bus.api.url}/q`;
    const expiresAt = bus.clock.now() + 30_000;
    const keyName = 'RootManageSharedAccessKey';
    const token = createSasToken({ audience, keyName, key: ROOT_KEY, expiresAt });
    const waiting = fetch(`${audience}/messages/head?timeout=60`, {
      method: mode,
      headers: { Authorization: token },
    });
    // Its token was valid and it found no message, so it waits now.
    await looked;
    bus.clock.advance({ seconds: 31 });
    await bus.send('q', 'late');
    const answer = await waiting;
    assert.equal(answer.status, 401);
    assert.match(await answer.text(), /40106/);
    assert.equal((await bus.peekLock('q'))?.body, 'late');
  });
}
