import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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
import { VARIABLES } from '../../shared/app/variables.ts';
import { isMore } from '../runner/more.ts';

/** What handles messages must start at once; management may take a moment longer. */
const BUNDLE_BYTES_MAX = {
  send: 731_000,
  receive: 747_000,
  settle: 737_000,
  manage: 968_000,
  sweep: 700_000,
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
    t.diagnostic(`${name}: ${Math.round(size / 1000)} KB, loads in ${loadMs(file).toFixed()} ms`);
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

/** The time a new process takes to load the bundle; the best of a few, the rest is the machine. */
function loadMs(file: string): number {
  const script = `
    const before = performance.now();
    const { handler } = require(${JSON.stringify(file)});
    if (typeof handler !== 'function') throw new Error('no handler');
    process.stdout.write(String(performance.now() - before));`;
  const times = Array.from({ length: LOADS }, () =>
    Number(
      execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8', env: ENVIRONMENT }),
    ),
  );
  return Math.min(...times);
}

/** As deployment would set it: a function without its settings does not start. */
const ENVIRONMENT = {
  ...process.env,
  ...Object.fromEntries(Object.values(VARIABLES).map((name) => [name, '1'])),
  [VARIABLES.access]: 'sas',
  [VARIABLES.tier]: 'Standard',
  [VARIABLES.endpoint]: 'apiGateway',
  AWS_REGION: 'eu-central-1',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
};
