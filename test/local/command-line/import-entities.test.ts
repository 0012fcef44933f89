import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { NamespaceDescription } from '../../../local/config/description.ts';
import { temporaryDirectory } from '../cli.ts';
import { runCommand, runProcess, sharedNamespace } from './run-command.ts';

/** What an import of entities does with those that exist, and what it says of wrong files and refusals. */

const bus = sharedNamespace();
let namespaces = 0;

/** A new namespace of the server, and commands on it. */
async function newNamespace(t: TestContext) {
  const { DYNABUS_CONNECTION_STRING: own } = await bus.environment();
  const env = {
    DYNABUS_CONNECTION_STRING: own.replace('AccessKey;', `AccessKey@import-${++namespaces};`),
  };
  const directory = temporaryDirectory(t);
  const run = (args: readonly string[], options = {}) => runCommand(args, { ...options, env });
  return {
    env,
    directory,
    run,
    /** Imports entities. Returns the exit code, the parsed output and the error output. */
    importOf: async (description: NamespaceDescription | string, ...options: string[]) => {
      const file = join(directory, 'entities.json');
      const isText = typeof description === 'string';
      writeFileSync(file, isText ? description : JSON.stringify(description));
      const args = ['import', '--entities', file, ...options];
      const { code, stdout, stderr } = await run([...args, '--json']);
      return { code, stderr, json: stdout === '' ? undefined : JSON.parse(stdout) };
    },
    exported: async (...options: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(['export', '--entities', ...options]);
      assert.equal(code, 0, stderr);
      return stdout;
    },
  };
}

const BEFORE: NamespaceDescription = {
  queues: ['a', { name: 'b', lockDuration: 'PT30S', userMetadata: 'mine' }],
  topics: {
    t: {
      subscriptions: {
        s: { rules: { kept: 'x = 1', filtered: 'x = 2', acting: { sql: 'x = 3' }, other: {} } },
      },
    },
  },
};
const AFTER: NamespaceDescription = {
  queues: [{ name: 'b', maxDeliveryCount: 3, forwardDeadLetteredMessagesTo: 'a' }, 'a', 'c'],
  topics: {
    t: {
      subscriptions: {
        s: {
          rules: {
            kept: 'x = 1',
            filtered: 'x = 5',
            acting: { sql: 'x = 3', action: 'SET y = 1' },
            added: 'x = 4',
          },
        },
      },
    },
  },
};
const S = 't/Subscriptions/s';

test('an import leaves what exists as it is, and names each setting and rule that differs', async (t) => {
  const { importOf, exported } = await newNamespace(t);
  assert.equal((await importOf(BEFORE)).code, 0);
  const { code, json, stderr } = await importOf(AFTER);
  assert.deepEqual([code, stderr], [1, '']);
  assert.deepEqual(json, {
    created: ['c', `${S}/Rules/added`],
    updated: [],
    deleted: [],
    existing: [
      ...['b', 'a', 't', S, `${S}/Rules/filtered`, `${S}/Rules/acting`],
      `${S}/Rules/kept`,
    ],
    different: [
      'b exists with UserMetadata mine in place of not set.',
      'b exists with LockDuration PT30S in place of PT1M.',
      'b exists with MaxDeliveryCount 10 in place of 3.',
      'b exists with ForwardDeadLetteredMessagesTo not set in place of a.',
      `${S}/Rules/filtered exists with another filter.`,
      `${S}/Rules/acting exists with another action.`,
      `${S}/Rules/other exists, and the file lacks it.`,
    ],
    refused: [],
  });
  const file = await exported();
  assert.match(file, /"LockDuration": "PT30S"/);
  assert.match(file, /"SqlExpression": "x = 2"/);
});

test('an import with --update makes entities and rules as in the file, and then nothing differs', async (t) => {
  const { importOf, exported, run, directory } = await newNamespace(t);
  assert.equal((await importOf(BEFORE)).code, 0);
  const { code, json } = await importOf(AFTER, '--update');
  assert.equal(code, 0);
  assert.deepEqual(json, {
    created: ['c', `${S}/Rules/added`],
    updated: ['b', S, `${S}/Rules/filtered`, `${S}/Rules/acting`],
    deleted: [`${S}/Rules/other`],
    existing: ['a', 't', `${S}/Rules/kept`],
    different: [],
    refused: [],
  });
  const file = await exported();
  assert.doesNotMatch(file, /"LockDuration": "PT30S"|x = 2|mine/);
  const { stdout } = await run(['import', '--entities', join(directory, 'entities.json')]);
  assert.equal(stdout, 'Created 0; 9 existed already.\n');
  const again = await importOf(AFTER, '--update');
  assert.deepEqual([again.json.updated, again.json.created], [[], []]);
});

test('a setting that cannot change is a difference, and with --update refused with its path', async (t) => {
  const { importOf } = await newNamespace(t);
  await importOf({ queues: ['a'] });
  const changed = { queues: [{ name: 'a', requiresSession: true }, 'b'] };
  const kept = await importOf(changed);
  assert.deepEqual(
    [kept.code, kept.json.created, kept.json.different],
    [1, ['b'], ['a exists with RequiresSession false in place of true.']],
  );
  const { code, json, stderr } = await importOf(changed, '--update');
  assert.deepEqual([code, json.existing], [1, ['b']]);
  assert.match(
    stderr,
    /^queues\[0\]\.requiresSession: The value for the 'requiresSession' property of an existing Queue can't be changed\..+\n$/,
  );
  assert.deepEqual(json.refused, [stderr.trimEnd()]);
});

test('a refusal of the service is printed with the path in the file, its code and tracking id', async (t) => {
  const { importOf } = await newNamespace(t);
  const large = { name: 'large', maxMessageSizeInKilobytes: 2048 };
  const { code, json, stderr } = await importOf({ queues: [large, 'b'] });
  assert.deepEqual([code, json.created], [1, ['b']]);
  assert.match(
    stderr,
    /^queues\[0\]\.maxMessageSizeInKilobytes: SubCode=40000\. The property .+ \(ArgumentError, tracking id [\w-]+\)\n$/,
  );
});

test('queues that forward in a circle, and a queue that forwards to itself, are imported', async (t) => {
  const { importOf, exported } = await newNamespace(t);
  const circle: NamespaceDescription = {
    queues: [
      { name: 'orders', forwardDeadLetteredMessagesTo: 'retries' },
      { name: 'own', forwardDeadLetteredMessagesTo: 'sb://any/own' },
      { name: 'retries', forwardTo: 'orders' },
    ],
  };
  const first = await importOf(circle);
  assert.deepEqual([first.code, first.json.created], [0, ['orders', 'own', 'retries']]);
  assert.deepEqual((await importOf(circle, '--update')).json.updated, []);
  const file = await exported();
  assert.match(file, /"ForwardTo": "orders"/);
  assert.match(file, /"ForwardDeadLetteredMessagesTo": "sb:\/\/sbemulatorns\/own"/);
  const other = await newNamespace(t);
  assert.equal((await other.importOf(file)).code, 0);
  assert.equal(await other.exported(), file);
});

test('shared access policies are exported with --keys only, into a file of the user alone', async (t) => {
  const { importOf, exported, run, directory } = await newNamespace(t);
  const primaryKey = Buffer.alloc(32, 7).toString('base64');
  const policy = { keyName: 'sender', accessRights: ['Send' as const], primaryKey };
  await importOf({ queues: { q: { authorizationRules: [policy] } }, topics: ['t'] });
  const without = await run(['export', '--entities']);
  assert.equal(
    without.stderr,
    'Left out: 1 shared access policy of queues and topics. Add --keys to have them in the file, with their keys.\n',
  );
  assert.doesNotMatch(without.stdout, /sender/);

  const file = join(directory, 'keys.json');
  writeFileSync(file, '', { mode: 0o644 });
  chmodSync(file, 0o644);
  await exported('--keys', '--out', file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const withKeys = readFileSync(file, 'utf8');
  assert.ok(withKeys.includes(primaryKey));
  const copy = await newNamespace(t);
  assert.equal((await copy.importOf(withKeys)).code, 0);
  assert.equal(await copy.exported('--keys'), withKeys);

  // A file without policies leaves those that exist, also with --update.
  assert.deepEqual((await copy.importOf(without.stdout)).json.different, []);
  assert.equal((await copy.importOf(without.stdout, '--update')).code, 0);
  assert.equal(await copy.exported('--keys'), withKeys);
  const renewed = withKeys.replace(primaryKey, Buffer.alloc(32, 8).toString('base64'));
  const differing = await copy.importOf(renewed);
  assert.deepEqual(differing.json.different, ['q exists with other AuthorizationRules.']);
});

test('an interrupted import begins no more entities and ends with 130', async (t) => {
  const { run, directory } = await newNamespace(t);
  const file = join(directory, 'many.json');
  writeFileSync(file, JSON.stringify({ queues: ['a', 'b'] }));
  const signal = AbortSignal.abort();
  const { code, stdout } = await run(['import', '--entities', file], { signal });
  assert.deepEqual([code, stdout], [130, 'Created 0; 0 existed already.\n']);
});

test('a connection string without the right to manage ends an import with 1', async (t) => {
  const { importOf, run, directory, env } = await newNamespace(t);
  await importOf({ queues: ['a'] });
  const to = env.DYNABUS_CONNECTION_STRING.replace(
    /SharedAccessKey=[^;]+/,
    'SharedAccessKey=wrong',
  );
  const args = ['import', '--entities', join(directory, 'entities.json'), '--to', to];
  const { code, stderr } = await run(args);
  assert.equal(code, 1);
  assert.match(stderr, /tracking id/);
});

test('a wrong file ends a start and an import with 2, and each fault has its path', async (t) => {
  const { env, directory } = await newNamespace(t);
  const file = join(directory, 'wrong.json');
  writeFileSync(file, JSON.stringify({ queues: [{ name: 'a', lockDuraton: 1 }, { name: '' }] }));
  for (const args of [
    ['start', '--engine', 'dynoxide', '--port', '0', '--config', file],
    ['import', '--entities', file],
  ]) {
    const { code, stdout, stderr } = await runProcess(args, { env });
    assert.deepEqual([code, stdout], [2, ''], stderr);
    const [heading, ...faults] = stderr.trimEnd().split('\n');
    assert.equal(heading, `The configuration ${file} cannot be used. Change this:`);
    assert.equal(
      faults[0],
      'queues[0].lockDuraton: There is no such property: write lockDuration instead, or remove it.',
    );
    assert.match(faults[1] ?? '', /^queues\[1\]\.name: /);
    assert.equal(faults.length, 2);
  }
});
