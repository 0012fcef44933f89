import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Import, importsOf, sourceFiles } from './repository.ts';

interface Room {
  readonly files: RegExp;
  /** Files of ours, as paths from the top; the room itself is always open. */
  readonly may?: RegExp;
  /** Files of ours of which only types may be known. */
  readonly mayType?: RegExp;
  readonly packages?: RegExp;
}

const SDK = '@aws-sdk/|@smithy/';

/** Who may import whom (docs/architecture.md). A file belongs to the first room that fits. */
const ROOMS: readonly Room[] = [
  // Data that deployment, functions and tests share: must cost nothing to import.
  {
    files:
      /^shared\/storage\/schema\/tables\.ts$|^shared\/domain\/health-path\.ts$|^gateway\/variables\.ts$|^lambdas\/http\/(route-table|management-routes|session-routes|variables|access-kinds)\.ts$/,
  },
  {
    files: /^shared\/domain\/(budgets\/(budgets|connection-budgets)|units)\.ts$/,
    may: /^shared\/domain\/(budgets\/connection-budgets|units)\.ts$/,
  },
  { files: /^shared\/domain\//, mayType: /^shared\/filters\// },
  { files: /^shared\/filters\//, may: /^shared\/domain\// },
  { files: /^shared\/broker\//, may: /^shared\/(domain|filters)\// },
  {
    files: /^shared\/storage\//,
    may: /^shared\/(domain|filters)\//,
    mayType: /^shared\/broker\//,
    packages: new RegExp(`^(node:|${SDK}|msgpackr$)`),
  },
  { files: /^shared\/telemetry\//, may: /^shared\/domain\//, packages: /^node:/ },
  // Composition roots choose the parts, so they know them all.
  {
    files: /^lambdas\/http\/compose[\w-]*\.ts$/,
    may: /^(shared|lambdas\/http)\/|^lambdas\/\w+\/app\.ts$/,
    packages: new RegExp(`^(node:|${SDK}|hono)`),
  },
  // The contract shows what the other rooms say on the wire.
  {
    files: /^lambdas\/contract\//,
    may: /^(shared|lambdas\/(http|manage))\/(?!storage\/)/,
    packages: /^hono/,
  },
  ...['http', 'send', 'receive', 'settle', 'manage', 'sweep'].map((folder) => ({
    files: new RegExp(`^lambdas/${folder}/`),
    may: /^(shared|lambdas\/http)\/(?!storage\/(?!schema\/tables))/,
    packages: new RegExp(`^(node:|${SDK}|hono|zod|fast-xml-parser$|aws-lambda$)`),
  })),
  // The wire knows values and frames; the endpoint what to do with them; the rest knows the broker.
  { files: /^amqp\/wire\//, may: /^shared\/domain\/budgets\/budgets\.ts$/ },
  {
    files: /^amqp\/endpoint\//,
    may: /^amqp\/wire\/|^shared\/domain\/budgets\/budgets\.ts$/,
    mayType: /^shared\/domain\/(scheduler|budgets\/memory-budget)\.ts$/,
  },
  {
    files: /^amqp\//,
    may: /^shared\/(domain|filters|broker)\/|^lambdas\/http\/(sas-token|proved-rule)\.ts$/,
    mayType: /^lambdas\/http\//,
  },
  // One port for all protocols; what is served there it is given.
  {
    files: /^server\//,
    may: /^(amqp|shared\/domain)\//,
    packages: /^(node:|@hono\/node-server$|ws$)/,
  },
  // What runs in the containers; the laptop's engine and clock stay on the laptop.
  {
    files: /^gateway\//,
    may: /^(amqp|server|shared\/domain)\/|^lambdas\/http\/(compose|deployed-parts|parts|report-fault|routing|proved-rule|settings)\.ts$/,
    packages: /^node:/,
  },
  {
    files: /^local\//,
    may: /^(shared|amqp|server)\/|^lambdas\/(http\/|\w+\/app\.ts$)/,
    packages: /./,
  },
  {
    files: /^cdk\//,
    may: /^shared\/storage\/schema\/tables\.ts$|^shared\/domain\/(budgets\/budgets|health-path)\.ts$|^gateway\/variables\.ts$|^lambdas\/http\/(route-table|management-routes|session-routes|variables|access-kinds)\.ts$/,
    packages: /^(aws-cdk-lib|constructs|esbuild|zod|node:)/,
  },
  { files: /^test\/(spec|model)\//, may: /^test\/support\//, packages: /^(node:|fast-check$)/ },
  { files: /^(test|bench)\//, may: /^(?!cdk\/app)/, packages: /./ },
];

test('every room imports only what it may know', () => {
  const offences = sourceFiles().flatMap((path) => {
    const room = ROOMS.find(({ files }) => files.test(path));
    assert.ok(room, `${path} stands in no room`);
    return importsOf(path)
      .filter((one) => !isAllowed(room, one))
      .map(({ target }) => `${path} imports ${target}`);
  });
  assert.deepEqual(offences, []);
});

test('a handler is imported by nobody: whoever imports it starts it', () => {
  const offences = sourceFiles().flatMap((path) =>
    importsOf(path)
      .filter(({ target }) => /^lambdas\/\w+\/handler\.ts$/.test(target))
      .map(({ target }) => `${path} imports ${target}`),
  );
  assert.deepEqual(offences, []);
});

function isAllowed(room: Room, { target, isOurs, isTypeOnly }: Import): boolean {
  if (!isOurs) return room.packages?.test(target) ?? false;
  if (room.files.test(target) || room.may?.test(target)) return true;
  return isTypeOnly && (room.mayType?.test(target) ?? false);
}
