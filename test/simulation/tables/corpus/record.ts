import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mergedShapes, type Shape } from './shapes.ts';

/**
 * Runs tests, and records the shapes of all requests that storage sends in them into `requests.jsonl`:
 *
 *     node --import tsx test/simulation/tables/corpus/record.ts spec/ model/ processes/
 *
 * The arguments choose the tests, as those of `npm test` do. Run it after storage has got a new request: the
 * differential tests then send it, too, and fail if the simulation does not support it.
 */

const folder = mkdtempSync(join(tmpdir(), 'dynabus-shapes-'));
const preload = new URL('preload.ts', import.meta.url).href;
const { status } = spawnSync('npm', ['test', '--', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: {
    ...process.env,
    DYNABUS_SHAPES: folder,
    NODE_OPTIONS: `--import tsx --import ${preload}`,
  },
});
const lines = readdirSync(folder).flatMap((name) =>
  readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean),
);
rmSync(folder, { recursive: true });
const shapes = mergedShapes(lines.map((line) => JSON.parse(line) as Shape));
writeFileSync(
  new URL('requests.jsonl', import.meta.url),
  shapes.map((shape) => `${JSON.stringify(shape)}\n`).join(''),
);
console.log(`${shapes.length} shapes of requests recorded; the tests ended with ${status}.`);
