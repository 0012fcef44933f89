import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { pageFiles } from '../../explorer/build/page-files.ts';
import { PAGE_HEADERS } from '../../lambdas/http/explorer/routes.ts';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { startLocalNamespaces } from '../local/local-namespaces.ts';
import { startLambdaBroker } from '../support/lambda-broker.ts';

/** How the page is served, without a browser. */

const GZIPPED_BYTES_MAX = 120 * 1024;
const FILES = ['index.html', 'app.js', 'app.css', 'icon.svg'];

test('all files of the page are small', async (t) => {
  const files = await pageFiles();
  assert.deepEqual([...files.keys()].sort(), [...FILES].sort());
  const bytes = [...files.values()].reduce((sum, { gzip }) => sum + gzip.length, 0);
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= GZIPPED_BYTES_MAX, `${bytes} bytes`);
});

test('a browser gets the page at the address of the server, other clients the list of entities', async (t) => {
  const local = await startLocalNamespaces({ t });
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(local.url + path, { headers });
    return { status: response.status, text: await response.text() };
  };
  const page = await get('/', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  assert.equal(page.status, 200);
  assert.match(page.text, /^<!doctype html>/i);
  assert.deepEqual(await get('/$explorer', {}), page);
  for (const Accept of ['*/*', 'application/atom+xml']) {
    assert.match((await get('/', { Accept })).text, /<feed .*Publicly Listed Services/);
  }
});

test('row 28: every file of the page comes with the policy that it runs nothing else', async (t) => {
  const local = await startLocalNamespaces({ t });
  for (const path of [
    '/$explorer',
    '/$explorer/about.json',
    ...FILES.map((name) => `/$explorer/${name}`),
  ]) {
    const { status, headers } = await fetch(local.url + path);
    assert.equal(status, 200, path);
    for (const [name, value] of Object.entries(PAGE_HEADERS)) {
      assert.equal(headers.get(name), value, `${name} of ${path}`);
    }
  }
  const policy = PAGE_HEADERS['Content-Security-Policy'] ?? '';
  assert.doesNotMatch(policy, /unsafe|https?:|data:|\*/);
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
    assert.ok(policy.includes(rule), rule);
  }
});

test('row 28: the page has no inline script or style, and names no other host', async () => {
  const files = await pageFiles();
  const html = new TextDecoder().decode(files.get('index.html')?.plain);
  assert.match(html, /<script[^>]+src="/);
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/i);
});

test('files that do not exist are not found, and a path is a name only', async (t) => {
  const local = await startLocalNamespaces({ t });
  for (const name of ['none.js', '__proto__', '%2e%2e%2fpackage.json', 'app.js/more']) {
    const { status } = await fetch(`${local.url}/$explorer/${name}`);
    assert.ok([400, 401, 404].includes(status), `${name}: ${status}`);
  }
});

test('the key is told only if it is the public one', async (t) => {
  const about = async (settings: { readonly rootKey?: string }) => {
    const { url } = await startLocalNamespaces({ t, ...settings });
    return await (await fetch(`${url}/$explorer/about.json`)).json();
  };
  const rootKey = Buffer.alloc(32, 'r').toString('base64');
  assert.deepEqual(await about({ rootKey }), { place: 'local', access: 'sas' });
  const told = { place: 'local', access: 'sas', publicKey: PUBLIC_ROOT_KEY };
  assert.deepEqual(await about({ rootKey: PUBLIC_ROOT_KEY }), told);
});

test('a deployment serves the page at $explorer, compressed for browsers that take it', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  const get = async (path: string, headers: Record<string, string> = {}) =>
    await broker.request('GET', path, { authorization: null, headers });
  const page = await get('$explorer', { Accept: 'text/html' });
  assert.equal(page.status, 200);
  assert.match(page.text, /^<!doctype html>/i);
  const plain = await get('$explorer/app.js');
  const packed = await get('$explorer/app.js', { 'Accept-Encoding': 'gzip, br' });
  assert.equal(packed.headers.get('content-encoding'), 'gzip');
  assert.equal(packed.headers.get('vary'), 'Accept-Encoding');
  assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
  assert.deepEqual(JSON.parse((await get('$explorer/about.json')).text), {
    place: 'deployed',
    access: 'sas',
  });
  requireResultsFit();
});
