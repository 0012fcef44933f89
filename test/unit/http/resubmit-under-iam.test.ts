import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleRoutes } from '../../../lambdas/http/routes/settle.ts';
import { IamRequest } from '../../../lambdas/http/routing/access.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { httpDependencies } from '../../support/http-fixture.ts';

const PATH = '/q/$deadletterqueue/messages/$resubmit';

/** The answer to a resubmission under IAM, which evaluated this path, or let the caller do everything. */
async function answerTo(body: object, evaluatedPath: string | undefined): Promise<Response> {
  const dependencies = httpDependencies();
  const app = combineRoutes(dependencies, settleRoutes(dependencies));
  const init = { method: 'POST', body: JSON.stringify(body) };
  return await app.fetch(new IamRequest(`http://localhost${PATH}`, init, evaluatedPath));
}

test('with API Gateway IAM evaluates the source alone, so another destination is refused', async () => {
  const refused = await answerTo({ to: 'a/b' }, PATH);
  assert.equal(refused.status, 403);
  assert.equal(refused.headers.get('x-dynabus-error'), 'Forbidden');
  assert.match(await refused.text(), /POST \/\$transactions/);
  assert.equal((await answerTo({}, PATH)).status, 200);
});

test('with a function URL IAM lets the caller do everything, so another destination too', async () => {
  assert.equal((await answerTo({ to: 'a/b' }, undefined)).status, 200);
});
