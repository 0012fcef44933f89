import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { openApiDocument } from '../../../lambdas/http/openapi/document.ts';
import { ROUTES, type Route } from '../../../lambdas/http/routing/route-table.ts';
import { startApp } from '../../support/http-fixture.ts';
import { type Content, contract, OPERATIONS, resolved, schemaOf } from './contract.ts';

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(contract);
  assert.ok(valid, JSON.stringify(errors, null, 2));
  assert.match(String(openApiDocument()['openapi']), /^3\.1\./);
});

test('the document is served without a token', async () => {
  const response = await startApp().app.request('http://localhost/$openapi.json');
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual(await response.json(), contract);
});

test('the document has every operation of the route table with its rights, and no other', () => {
  const inTable = (ROUTES as readonly Route[]).map(({ method, path, name, summary, rights }) =>
    [name, method, path, summary, ...rights].join(' '),
  );
  const described = OPERATIONS.map(({ method, path, operationId, summary, security }) =>
    [operationId, method, path, summary, ...security.flatMap(({ sas }) => sas)].join(' '),
  );
  assert.deepEqual(described.sort(), inTable.sort());
});

for (const { operationId, path, parameters, requestBody, answers } of OPERATIONS) {
  test(`${operationId} describes all parameters of its path, and its examples match its schemas`, () => {
    const named = parameters
      .map((one) => resolved<{ readonly name: string; readonly in: string }>(one))
      .filter((one) => one.in === 'path')
      .map(({ name }) => name);
    assert.deepEqual(
      named,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    );
    requireExamples(requestBody?.content ?? {});
    for (const [, { description, content }] of answers) {
      assert.ok(description);
      requireExamples(content ?? {});
    }
    for (const kind of [2, 5]) {
      assert.ok(answers.some(([status]) => Math.floor(status / 100) === kind));
    }
  });
}

function requireExamples(content: Content): void {
  for (const [type, { schema, examples }] of Object.entries(content)) {
    const fits = schemaOf(schema);
    const values = Object.values(examples).map(({ value }) => value);
    assert.ok(values.length > 0, `an example of ${type}`);
    for (const value of values) assert.ok(fits(value), JSON.stringify(fits.errors));
  }
}
