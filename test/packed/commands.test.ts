import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { descendants, untilEnded } from '../local/cli.ts';
import { isMore } from '../runner/more.ts';
import { type Ended, Project } from './project.ts';
import { type Serving, serve } from './serve.ts';

/** Every command of the packed command line, on a namespace that it serves from a file of the vendor's emulator. */

const CONFIG = fileURLToPath(new URL('../local/emulator-config.json', import.meta.url));
const MESSAGES = 10_000;
const DEAD = '$deadletterqueue';

if (isMore()) {
  let project: Project;
  let server: Serving;
  let to: string;

  before(async () => {
    project = Project.with('commands');
    copyFileSync(CONFIG, join(project.folder, 'Config.json'));
    server = await serve(project, ['dynabus', 'start', '--config', 'Config.json', '--port', '0']);
    to = server.connectionString;
  });
  after(() => server.end());

  const run = (...args: readonly string[]): Ended =>
    project.run(['dynabus', ...args], { variables: { DYNABUS_CONNECTION_STRING: to } });
  /** The output of a command, which must succeed. */
  const outputOf = (...args: readonly string[]): string => {
    const { exitCode, output, errors } = run(...args);
    assert.equal(exitCode, 0, errors);
    return output;
  };
  const countsOf = (path: string): readonly [active: number, dead: number] => {
    const [{ CountDetails: counts }] = JSON.parse(outputOf('list', path, '--json'));
    return [counts.ActiveMessageCount, counts.DeadLetterMessageCount];
  };

  test(`${MESSAGES} messages are sent, exported, purged, imported, dead-lettered and resubmitted`, () => {
    const count = String(MESSAGES);
    assert.match(outputOf('send', 'queue.1', 'x', '--count', count), /^Sent 10,000 messages/);
    outputOf('export', 'queue.1', '--out', 'all.ndjson');
    const lines = readFileSync(join(project.folder, 'all.ndjson'), 'utf8').trim().split('\n');
    assert.equal(lines.length, MESSAGES);
    assert.match(outputOf('purge', 'queue.1', '--yes'), /^Removed 10,000 messages/);
    assert.match(outputOf('import', 'queue.1', '--in', 'all.ndjson'), /^Sent 10,000 messages/);
    outputOf('receive', 'queue.1', '--count', count, '--dead-letter', '--quiet');
    assert.deepEqual(countsOf('queue.1'), [0, MESSAGES]);
    assert.match(outputOf('resubmit', `queue.1/${DEAD}`, '--all'), /^Resubmitted 10,000 messages/);
    assert.deepEqual(countsOf('queue.1'), [MESSAGES, 0]);
  });

  test('peek, list and deploy-info show the namespace, and entities go to another one', () => {
    const peeked = outputOf('peek', 'queue.1', '--count', '2', '--json').trim().split('\n');
    assert.deepEqual(
      peeked.map((line) => JSON.parse(line).Body),
      ['x', 'x'],
    );
    assert.match(outputOf('list'), /^subscription +topic\.1\/subscriptions\/subscription\.3 /m);
    assert.equal(JSON.parse(outputOf('deploy-info', '--json')).health, 'healthy');

    outputOf('export', '--entities', '--out', 'copy.json');
    const other = to.replace('RootManageSharedAccessKey;', 'RootManageSharedAccessKey@other;');
    assert.match(outputOf('import', '--entities', 'copy.json', '--to', other), /^Created /m);
    const paths = (connection: string) =>
      JSON.parse(outputOf('list', '--json', '--to', connection)).map(
        ({ path }: { readonly path: string }) => path,
      );
    assert.deepEqual(paths(other), paths(to));
  });

  test('wrong input ends with a sentence and the exit code 2', () => {
    const wrong = [
      ['nothing'],
      ['send'],
      ['send', 'queue.1', 'x', '--count', 'many'],
      ['list', '--to', 'Endpoint=sb://localhost'],
      ['start', '--port', 'abc'],
      ['start', '--config', 'all.ndjson'],
      ['import', 'queue.1', '--in', 'Config.json'],
    ];
    for (const args of wrong) {
      const { exitCode, output, errors } = run(...args);
      assert.equal(exitCode, 2, `${args.join(' ')}: ${output}${errors}`);
      assert.match(errors, /\.\n$/);
      assert.doesNotMatch(errors, /^ {4}at /m);
    }
  });

  test('a server that npx has started ends with npx', async () => {
    const start = ['npx', 'dynabus', 'start', '--port', '0', '--engine', 'dynoxide'];
    const npx = await serve(project, start);
    const below = descendants(npx.pid);
    assert.ok(below.length >= 3, npx.output);
    await Promise.all([npx.end(), untilEnded(below)]);
  });
}
