import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, readText } from './repository.ts';

/** What `dynabus --help` may load: it must answer at once. */
const CHARACTERS_MAX = 40_000;

/** The files that run before a command is chosen: dynamic imports load the rest. */
function loadedAtOnce(entry: string) {
  const files = new Set([entry]);
  const packages = new Set<string>();
  for (const file of files) {
    const isDynamic = (target: string) => readText(file).includes(`import('${target}')`);
    for (const { target, written, isOurs, isTypeOnly } of importsOf(file)) {
      if (isTypeOnly || isDynamic(written)) continue;
      if (isOurs && target.endsWith('.ts')) files.add(target);
      if (!isOurs && !target.startsWith('node:')) packages.add(target);
    }
  }
  return { files: [...files], packages: [...packages] };
}

test('the command line loads commander and small files only, before it knows the command', () => {
  const { files, packages } = loadedAtOnce('local/main.ts');
  assert.deepEqual(packages, ['commander']);
  const characters = files.reduce((sum, file) => sum + readText(file).length, 0);
  assert.ok(files.length > 5 && characters < CHARACTERS_MAX, `${characters}: ${files.join(', ')}`);
});

test('each command loads the service, the parser of XML and the AWS SDK only if it needs them', () => {
  const commands = ['send', 'peek', 'receive', 'resubmit', 'purge', 'list', 'export', 'import'];
  for (const command of [...commands, 'deploy-info']) {
    const { packages } = loadedAtOnce(`local/command-line/commands/${command}.ts`);
    assert.deepEqual(packages, [], command);
  }
});
