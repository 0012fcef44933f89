import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT, token } from '../../support/atom-client.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';

/** The samples of the JSON section of docs/http/management.md. */

const PAGE = new URL('../../../docs/http/management.md', import.meta.url);
const SECTION = readFileSync(PAGE, 'utf8').split('\n## JSON\n')[1]?.split('\n## ')[0] ?? '';
const blocks = (language: string) =>
  [...SECTION.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, text = '']) => text,
  );

test('the samples in JSON run as written, and print what the page shows', async (t) => {
  const broker = await startBroker(t);
  const folder = mkdtempSync(join(tmpdir(), 'dynabus-samples-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const authorization = token('', { ...ROOT, key: ROOT_KEY });
  const script = `BUS=${broker.api.url}
    bus() { curl -sS -H 'Authorization: ${authorization}' "$@"; }
    ${blocks('sh').join('\n')}`;
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
  });
  assert.equal(blocks('sh').length, 4);
  assert.deepEqual(stdout.split('\n'), blocks('text').join('').split('\n'));
});
