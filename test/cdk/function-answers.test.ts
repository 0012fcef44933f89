import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { VARIABLES } from '../../shared/app/variables.ts';
import { LAMBDA_RESULT_BYTES_MAX } from '../support/lambda-broker.ts';
import { engineOfTests, TABLES, tablesExist } from '../support/start-broker.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the deployed handlers hand out what prints long in results that Lambda takes', async () => {
  await tablesExist();
  const engine = engineOfTests();
  const { stdout } = await run(
    process.execPath,
    ['--import', 'tsx', 'test/support/call-functions.ts'],
    {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        AWS_ENDPOINT_URL_DYNAMODB: engine.url,
        AWS_REGION: 'local',
        AWS_ACCESS_KEY_ID: engine.accessKey,
        AWS_SECRET_ACCESS_KEY: 'local',
        [VARIABLES.entitiesTable]: TABLES.entities,
        [VARIABLES.messagesTable]: TABLES.messages,
        [VARIABLES.namespace]: `test-${randomBytes(6).toString('hex')}`,
        [VARIABLES.access]: 'iam',
        [VARIABLES.receiveWaitMsMax]: '1000',
      },
    },
  );
  const { receive, manage } = JSON.parse(stdout) as Record<
    'receive' | 'manage',
    { received: number; largest: number }
  >;
  for (const { received, largest } of [receive, manage]) {
    assert.equal(received, 8);
    assert.ok(largest <= LAMBDA_RESULT_BYTES_MAX, `a result takes ${largest} bytes`);
  }
});
