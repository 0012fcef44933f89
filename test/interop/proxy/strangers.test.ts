import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { createSasToken } from '../../../shared/auth/create-sas-token.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startOverHttp } from '../connect/over-http.ts';

/** What clients without the rights reach by a proxy over HTTPS, and what they cost the deployment. */

const KEY = 'own-key-of-the-proxy';
const NO_RETRY = { retryOptions: { maxRetries: 0, timeoutInMs: 5000 } };

async function startProxyOverHttp(t: Parameters<typeof startOverHttp>[0]) {
  const { namespace, link, upstream, queue } = await startOverHttp(t);
  const proxy = await startClientProxy({ upstream, key: KEY, host: '127.0.0.1', port: 0 });
  t.after(() => proxy.stop());
  const connect = (credential: string) => {
    const text = `Endpoint=sb://localhost:${proxy.port};${credential};UseDevelopmentEmulator=true;`;
    const client = new ServiceBusClient(text, NO_RETRY);
    t.after(() => client.close());
    return client;
  };
  return { namespace, link, queue, connect };
}

test('a client without the key of a proxy causes no request to the deployment', async (t) => {
  const { link, queue, connect } = await startProxyOverHttp(t);
  for (const name of ['RootManageSharedAccessKey', 'unknown']) {
    const client = connect(`SharedAccessKeyName=${name};SharedAccessKey=${'x'.repeat(20)}`);
    for (const path of [queue, 'missing']) {
      const sending = client.createSender(path).sendMessages({ body: 'refused' });
      await assert.rejects(sending, { code: 'UnauthorizedAccess' });
    }
  }
  assert.deepEqual(link.requests, []);
});

test('a token for one entity reaches no other one by a path with dots', async (t) => {
  const { namespace, link, queue, connect } = await startProxyOverHttp(t);
  await administrationOf(namespace.connectionString).createQueue('own');
  const audience = 'sb://localhost/own';
  const expiresAt = Date.now() + 60_000;
  const keyName = 'RootManageSharedAccessKey';
  const client = connect(
    `SharedAccessSignature=${createSasToken({ audience, keyName, key: KEY, expiresAt })}`,
  );
  await client.createSender('own').sendMessages({ body: 'taken' });
  const sending = client.createSender(`own/../${queue}`).sendMessages({ body: 'refused' });
  await assert.rejects(sending, { code: 'MessagingEntityNotFound' });
  assert.equal(link.countOf(`/${queue}/messages`), 0);
});
