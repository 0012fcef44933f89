import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import {
  type AdministrationClient,
  administrationOf,
  all,
} from '../administration/admin-clients.ts';
import { startNamespace } from '../start-namespace.ts';

/** The program of docs/migrating.md, as it stands there. */

const PROGRAM = /```js\n(?<program>[\s\S]*?)```/;
/** Where the packages of this repository are found. */
const FOLDER = 'node_modules/.cache/dynabus-migrating';

/** Runs the program between two namespaces; the beta reaches them without TLS. */
async function copy(t: TestContext, from: string, to: string): Promise<void> {
  const page = await readFile('docs/migrating.md', 'utf8');
  const program = page.match(PROGRAM)?.groups?.['program'] ?? '';
  await mkdir(FOLDER, { recursive: true });
  t.after(() => rm(FOLDER, { recursive: true, force: true }));
  const file = join(FOLDER, 'copy.mjs');
  await writeFile(file, program.replaceAll("'@azure/service-bus'", "'service-bus-beta'"));
  await promisify(execFile)(process.execPath, [file, from, to]);
}

/** All that can be read of a namespace but times and addresses. */
async function everything(admin: AdministrationClient): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const queue of admin.listQueues()) found.push(comparable(queue));
  for await (const topic of admin.listTopics()) {
    found.push(comparable(topic));
    for await (const subscription of admin.listSubscriptions(topic.name)) {
      found.push(comparable(subscription));
      const rules = await all(admin.listRules(topic.name, subscription.subscriptionName));
      found.push(rules.map(({ name, filter, action }) => ({ name, filter, action })));
    }
  }
  return found;
}

/** Addresses name the namespace; what matters is the entity at their end. */
function comparable(properties: object): object {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => name !== '_response')
      .map(([name, value]) => [
        name,
        name.startsWith('forward') && value ? String(value).replace(/.*\//, '') : value,
      ]),
  );
}

test('the program of the migration page copies every entity with its settings, and a second run changes nothing', async (t) => {
  const [from, to] = await Promise.all([startNamespace(), startNamespace()]);
  t.after(() => Promise.all([from.stop(), to.stop()]));
  const source = administrationOf(from.connectionString);
  await source.createQueue('sink', { maxDeliveryCount: 3, lockDuration: 'PT30S' });
  await source.createQueue('always', {
    forwardTo: 'sink',
    forwardDeadLetteredMessagesTo: 'sink',
    requiresDuplicateDetection: true,
    authorizationRules: [
      { claimType: 'SharedAccessKey', keyName: 'sender', accessRights: ['Send'] },
    ],
  });
  await source.createTopic('news', { defaultMessageTimeToLive: 'P7D' });
  await source.createSubscription('news', 'plain');
  await source.createSubscription('news', 'picky', { requiresSession: true });
  await source.deleteRule('news', 'picky', '$Default');
  await source.createRule(
    'news',
    'picky',
    'red',
    { sqlExpression: "colour = 'red'" },
    { sqlExpression: 'SET seen = 1' },
  );
  await source.createRule('news', 'picky', 'urgent', {
    correlationId: 'urgent',
    applicationProperties: { level: 3 },
  });
  await copy(t, from.connectionString, to.connectionString);
  const target = administrationOf(to.connectionString);
  const copied = await everything(target);
  assert.deepEqual(copied, await everything(source));
  assert.equal((await all(target.listQueues())).length, 2);
  await copy(t, from.connectionString, to.connectionString);
  assert.deepEqual(await everything(target), copied);
});
