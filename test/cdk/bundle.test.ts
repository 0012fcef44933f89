import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bundle, bundleGateway, GATEWAY_FOLDER } from '../../cdk/constructs/bundle.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../cdk/functions.ts';
import { isMore } from '../runner/more.ts';
import { loadMs } from './load-bundle.ts';

/** What handles messages must start at once; management may take a moment longer. */
const BUNDLE_BYTES_MAX = {
  send: 775_000,
  receive: 786_000,
  settle: 756_000,
  // With the web page.
  manage: 1_130_000,
  sweep: 739_000,
  declare: 900_000,
  wake: 442_000,
  push: 779_000,
} as const satisfies Record<FunctionName, number>;
/** How often a bundle is loaded: once shows that it starts, several times show how quickly. */
const LOADS = isMore() ? 5 : 1;

/** Words of the contract, which only management serves. */
const CONTRACT = 'The host of this document.';

const folder = mkdtempSync(join(tmpdir(), 'dynabus-bundle-'));
after(() => rmSync(folder, { recursive: true }));

/** The bundle of a function, which is made once. */
function bundleOf(name: FunctionName): string {
  const file = join(folder, name, 'index.js');
  if (!existsSync(file)) bundle(name, join(folder, name));
  return file;
}

test('only management carries the contract', () => {
  const carrying = FUNCTION_NAMES.filter((name) =>
    readFileSync(bundleOf(name), 'utf8').includes(CONTRACT),
  );
  assert.deepEqual(carrying, ['manage']);
});

for (const name of FUNCTION_NAMES) {
  test(`${name} is small enough to start quickly, and starts`, (t) => {
    const file = bundleOf(name);
    const { size } = statSync(file);
    t.diagnostic(
      `${name}: ${Math.round(size / 1000)} KB, loads in ${loadMs(file, LOADS).toFixed()} ms`,
    );
    assert.ok(size <= BUNDLE_BYTES_MAX[name], `${size} bytes`);
  });
}

test('an image of the gateway is made of files alone, and its process is not root', () => {
  const context = join(folder, 'gateway');
  mkdirSync(context);
  bundleGateway(context);
  assert.deepEqual(readdirSync(context).sort(), ['Dockerfile', 'index.js']);
  const steps = readFileSync(join(context, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  // A step that runs something would need a machine of the image's kind.
  assert.deepEqual(
    steps.map((step) => step.split(' ')[0]),
    ['FROM', 'WORKDIR', 'COPY', 'ENV', 'USER', 'CMD'],
  );
  assert.ok(steps.includes('USER node'));
});

test('the base image of the gateway is pinned: by a full version of Node and Alpine, and by a digest', () => {
  const text = readFileSync(join(GATEWAY_FOLDER, 'Dockerfile'), 'utf8');
  const bases = text.split('\n').filter((line) => /^\s*FROM\b/i.test(line));
  assert.equal(bases.length, 1);
  assert.match(
    bases[0] ?? '',
    /^FROM (?:[\w.]+\/docker\/library\/)?node:24\.\d+\.\d+-alpine3\.\d+@sha256:[\da-f]{64}$/,
  );
});
