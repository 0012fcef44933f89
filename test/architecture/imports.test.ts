import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { type Import, importsOf, sourceFiles } from './repository.ts';

interface Module {
  readonly files: RegExp;
  /** Files of ours, as paths from the top; the module itself is always open. */
  readonly may?: RegExp;
  /** Files of ours of which only types may be known. */
  readonly mayType?: RegExp;
  readonly packages?: RegExp;
}

const SDK = '@aws-sdk/|@smithy/';

/** What deployment, functions and tests share: it imports nothing, so it costs nothing to import. */
const SHARED_DATA =
  /^shared\/(?:storage\/schema\/(?:tables|consumer-marks)|domain\/(?:fault-words|health-path|units)|auth\/access-kinds|app\/variables)\.ts$|^gateway\/variables\.ts$|^lambdas\/http\/routing\/(?:route-table|management-routes|session-routes)\.ts$/;

/**
 * Who may import whom, from below (docs/architecture.md): domain and filters, the broker with its ports,
 * storage, auth, app, surfaces, servers and entry points. A file belongs to the first module that fits.
 */
const MODULES: readonly Module[] = [
  { files: SHARED_DATA },
  {
    files: /^shared\/domain\/budgets\/(?:budgets|connection-budgets)\.ts$/,
    may: /^shared\/domain\/units\.ts$/,
  },
  { files: /^shared\/domain\//, mayType: /^shared\/filters\// },
  { files: /^shared\/filters\//, may: /^shared\/domain\// },
  { files: /^shared\/broker\//, may: /^shared\/(domain|filters)\// },
  {
    files: /^shared\/storage\//,
    may: /^shared\/(domain|filters)\//,
    mayType: /^shared\/(broker|push)\//,
    packages: new RegExp(`^(node:|${SDK}|msgpackr$)`),
  },
  {
    files: /^shared\/auth\//,
    may: /^shared\/domain\//,
    mayType: /^shared\/broker\//,
    packages: /^node:crypto$/,
  },
  // Entities as people describe them. Deployed stacks are checked by the same rules, so it needs no packages.
  {
    files: /^shared\/config\//,
    may: /^shared\/(domain|filters|broker)\//,
    packages: /^node:util$/,
  },
  // Decides who is called when, by ports of its own.
  { files: /^shared\/push\//, may: /^shared\/(domain|broker)\// },
  // Chooses the implementations, so it knows them all.
  { files: /^shared\/app\//, may: /^shared\//, packages: new RegExp(`^(node:|${SDK})`) },
  { files: /^lambdas\/http\/compose\.ts$/, may: /^(shared|lambdas\/http)\//, packages: /^hono/ },
  // What a target gets and what it answers: pure, in the words of the HTTP interface.
  {
    files: /^lambdas\/push\/(event|answer)\//,
    may: /^shared\/(domain\/|filters\/evaluation\/decimal\.ts$)|^lambdas\/http\/(?:format\/|message-formats\/base64\.ts$)/,
    mayType: /^shared\/push\/ports\.ts$/,
    packages: /^node:crypto$/,
  },
  {
    files: /^lambdas\/push\/targets\//,
    may: /^lambdas\/push\/(event|answer)\/|^shared\/domain\//,
    mayType: /^shared\/push\/ports\.ts$/,
    packages: /^@aws-sdk\/client-lambda$/,
  },
  // The HTTP interface has a format in which messages are encoded as over AMQP.
  {
    files: /^lambdas\//,
    may: /^(shared|lambdas\/http)\/(?!storage\/)|^amqp\/(messages|wire)\/|^explorer\/build\/page-files\.ts$/,
    packages: new RegExp(`^(node:|${SDK}|hono|zod|fast-xml-parser$|aws-lambda$)`),
  },
  // The wire knows values and frames; the endpoint what to do with them; the rest knows the broker.
  { files: /^amqp\/wire\//, may: /^shared\/domain\/budgets\/budgets\.ts$/ },
  {
    files: /^amqp\/endpoint\//,
    may: /^amqp\/wire\/|^shared\/domain\/budgets\/budgets\.ts$/,
    mayType: /^shared\/domain\/(scheduler|budgets\/memory-budget)\.ts$/,
  },
  {
    files: /^amqp\//,
    may: /^shared\/(domain|filters|broker|auth)\//,
    mayType: /^shared\/app\/surface-dependencies\.ts$/,
  },
  // One port for all protocols; what is served there it is given.
  {
    files: /^server\//,
    may: /^(amqp|shared\/domain)\//,
    packages: /^(node:|@hono\/node-server$|ws$)/,
  },
  // What a container and the command line serve in the same way. It is given its upstream, and knows no transport.
  {
    files: /^proxy\//,
    may: /^(amqp|server|shared\/(domain|auth))\//,
    mayType: /^connect\/upstream\.ts$/,
    packages: /^node:/,
  },
  // What runs in the containers; the laptop's engine and clock stay on the laptop.
  {
    files: /^gateway\//,
    may: /^(server|proxy|connect|shared\/(domain|auth|app))\/|^lambdas\/http\/(compose|http-dependencies|routing\/routing)\.ts$/,
    packages: /^node:/,
  },
  // The AMQP surface in the process of its clients. It has no HTTP surface of its own, but calls that of a deployment.
  {
    files: /^connect\/https\//,
    may: /^(connect|amqp|shared|client|lambdas\/http\/(format|json))\//,
    packages: new RegExp(`^(node:|${SDK})`),
  },
  {
    files: /^connect\//,
    may: /^(amqp|shared)\//,
    packages: new RegExp(`^(node:|${SDK})`),
  },
  // Calls a namespace as any client does. The command line loads it often, and tests of other programs import it.
  {
    files: /^client\//,
    // The rule of names is small, and the same here and in the service.
    may: /^shared\/(?:auth\/(?:create-sas-token|connection-string)|domain\/entities\/entity-path)\.ts$/,
    packages: /^(node:|fast-xml-parser$)/,
  },
  // Builds the web page, and hands out its files.
  { files: /^explorer\/build\//, packages: /^(node:|esbuild$)/ },
  // Runs in a browser: it calls a namespace as any client does, and tries rules with the code of the service.
  {
    files: /^explorer\//,
    may: /^client\/|^shared\/(domain|filters)\/|^shared\/config\/(faults|fields|read-rule)\.ts$|^shared\/auth\/connection-string\.ts$|^lambdas\/http\/format\/(exact|property)-json\.ts$/,
    packages: /^preact(\/hooks)?$/,
  },
  // `--version` prints the version of the package.
  {
    files: /^local\//,
    may: /^(shared|amqp|server|proxy|connect|client|lambdas\/(http|push))\/|^package\.json$/,
    packages: /./,
  },
  // In the package it stands for cdk/constructs/function-code.ts, so it must not know the bundler.
  {
    files: /^package\/prebuilt-code\.ts$/,
    mayType: /^cdk\/functions\.ts$/,
    packages: /^(node:|aws-cdk-lib\/)/,
  },
  // What users import, and how the package is built, with the functions that its constructs deploy.
  {
    files: /^package\//,
    may: /^shared\/auth\/(connection-string|create-sas-token)\.ts$|^cdk\/(functions|constructs\/bundle)\.ts$|^explorer\/build\//,
    packages: /^(node:|esbuild$)/,
  },
  // Declared entities are checked at synthesis by the rules by which deployment creates them.
  {
    files: /^cdk\/entities\//,
    may: new RegExp(
      `^cdk/|^shared/(config|domain)/|^shared/broker/management/describe-entity\\.ts$|${SHARED_DATA.source}`,
    ),
    packages: /^(aws-cdk-lib|constructs)/,
  },
  // The entry of the package names the types of rules.
  { files: /^cdk\/index\.ts$/, may: /^cdk\/|^shared\/config\/rule-description\.ts$/ },
  // The only code that knows how functions are bundled; everything else of cdk/ is published without the bundler.
  {
    files: /^cdk\/constructs\/bundle\.ts$/,
    may: /^cdk\/functions\.ts$|^explorer\/build\//,
    packages: /^(esbuild$|node:)/,
  },
  {
    files: /^cdk\//,
    may: new RegExp(`${SHARED_DATA.source}|^shared/domain/budgets/budgets\\.ts$`),
    packages: /^(aws-cdk-lib|constructs|zod|node:)/,
  },
  // Projects of users, which know the package only.
  { files: /^samples\//, packages: /./ },
  {
    files: /^test\/(spec|model)\//,
    may: /^test\/(support\/|runner\/more)/,
    packages: /^(node:|fast-check$)/,
  },
  { files: /^(test|bench)\//, may: /^(?!cdk\/app)/, packages: /./ },
];

test('every module imports only what it may', () => {
  const offences = sourceFiles().flatMap((path) => {
    const module = MODULES.find(({ files }) => files.test(path));
    assert.ok(module, `${path} belongs to no module`);
    return importsOf(path)
      .filter((one) => !isAllowed(module, one))
      .map(({ target }) => `${path} imports ${target}`);
  });
  assert.deepEqual(offences, []);
});

test('only the code of functions from source knows the bundler: the package replaces that file', () => {
  const offences = sourceFiles()
    .filter((path) => path.startsWith('cdk/') && path !== 'cdk/constructs/function-code.ts')
    .filter((path) => importsOf(path).some(({ target }) => target === 'cdk/constructs/bundle.ts'));
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

function isAllowed(module: Module, { target, isOurs, isTypeOnly }: Import): boolean {
  if (!isOurs) return module.packages?.test(target) ?? false;
  if (module.files.test(target) || module.may?.test(target)) return true;
  return isTypeOnly && (module.mayType?.test(target) ?? false);
}

/** A folder holds what changes together; with more files than this it holds several things. */
const FOLDER_FILES_MAX = 20;
/** The folders of tests, which hold a file for each thing they look at. */
const NO_SOURCE = /^test\//;

test('no folder of the source holds too many files', () => {
  const counts = new Map<string, number>();
  for (const path of sourceFiles().filter((one) => !NO_SOURCE.test(one))) {
    const folder = dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > FOLDER_FILES_MAX),
    [],
  );
});

test('no files of the source import each other in a circle, not even for types', () => {
  const files = sourceFiles().filter((path) => !NO_SOURCE.test(path));
  const imports = new Map(
    files.map((path) => [
      path,
      importsOf(path).flatMap(({ isOurs, target }) => (isOurs ? [target] : [])),
    ]),
  );
  // What remains once files that import none of the rest are taken out, again and again.
  for (let taken = -1; taken !== 0; ) {
    const free = [...imports].filter(([, targets]) => !targets.some((one) => imports.has(one)));
    for (const [path] of free) imports.delete(path);
    taken = free.length;
  }
  // And those that nothing of the rest imports.
  for (let taken = -1; taken !== 0; ) {
    const imported = new Set([...imports.values()].flat());
    const free = [...imports.keys()].filter((path) => !imported.has(path));
    for (const path of free) imports.delete(path);
    taken = free.length;
  }
  assert.deepEqual([...imports.keys()], []);
});
