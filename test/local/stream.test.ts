import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEngine } from '../../local/engine/engine.ts';
import { ENGINE_KINDS } from '../../local/engine/engine-recipes.ts';
import { startCountingRelay } from '../support/counting-relay.ts';
import { ROOT_KEY } from '../support/start-broker.ts';
import { startNamespaceCli } from './cli.ts';
import { NamespaceClient } from './local-namespaces.ts';

// These tests start their own engines.
process.env['DYNAMODB_ENDPOINT'] = '';

for (const kind of ENGINE_KINDS) {
  test(`two servers with --stream on one ${kind}: one hears of what the other stores`, async (t) => {
    const engine = await startEngine({ kind });
    t.after(() => engine.stop());
    const relay = await startCountingRelay(t, engine.endpoint);
    const endpoint = new URL(engine.endpoint);
    const relayed = new URL(relay.url);
    relayed.username = endpoint.username;
    // The engine's tables have no stream yet when the second one asks for it.
    const other = await startNamespaceCli(t, { env: { DYNAMODB_ENDPOINT: engine.endpoint } });
    const streamed = await startNamespaceCli(t, {
      args: ['--stream'],
      env: { DYNAMODB_ENDPOINT: relayed.href },
    });
    const [from, to] = [other, streamed].map(({ url }) => new NamespaceClient(url, 'n', ROOT_KEY));
    assert.ok(from !== undefined && to !== undefined);
    await from.createQueue('q');
    const waiting = to.request('DELETE', 'q/messages/head?timeout=60');
    await relay.next('GetRecords');
    await from.send('q', 'of the other');
    assert.equal(await (await waiting).text(), 'of the other');
    assert.equal(streamed.errors(), '');
    streamed.child.kill('SIGTERM');
    assert.equal(await streamed.ended, 0);
  });
}
