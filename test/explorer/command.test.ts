import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCli } from '../local/cli.ts';
import { openPage } from './browser.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';

for (const readOnly of [false, true]) {
  const how = readOnly ? 'read-only' : 'with all rights';
  test(`dynabus explorer shows another namespace, ${how}`, { skip: NO_BROWSER }, async (t) => {
    const { client, create } = await startExplorer(t);
    await create('orders', { kind: 'queue' });
    const cli = startCli(t, {
      command: 'explorer',
      args: ['--quiet', '--to', client.connectionString(), ...(readOnly ? ['--read-only'] : [])],
    });
    await cli.untilPrinted('#access=');
    const address = cli.output().trim();
    const page = await openPage(t, address);
    await page.getByRole('link', { name: 'orders' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/', 'the secret is gone from the address');
    const origin = new URL(address).origin;
    const without = await fetch(`${origin}/$entities`);
    assert.equal(without.status, 401);
    const secret = new URL(address).hash.replace('#access=', '');
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
    const put = await fetch(`${origin}/more`, { method: 'PUT', headers, body: '{"kind":"queue"}' });
    assert.equal(put.status, readOnly ? 403 : 201);
    cli.child.kill('SIGTERM');
    assert.equal(await cli.ended, 0);
  });
}
