import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { startApp } from '../../support/http-fixture.ts';

/** Row 25: responses that need no token and are expensive to make. */

const { acceptLength } = BUDGETS.request;

test('row 25: the OpenAPI document is printed once, however often it is requested', async (t) => {
  const { app } = startApp();
  const ask = async () => {
    const response = await app.request('http://localhost/$openapi.json');
    assert.equal(response.headers.get('content-type'), 'application/json');
    return await response.text();
  };
  const print = t.mock.method(JSON, 'stringify').mock;
  const first = await ask();
  assert.equal(print.callCount(), 1);
  assert.equal(await ask(), first);
  assert.equal(print.callCount(), 1);
});

test('row 25: an Accept header that is too long is ignored in a refusal', async () => {
  const { app } = startApp();
  const typeFor = async (accept: string) => {
    const init = { method: 'POST', headers: { accept } };
    const response = await app.request('http://localhost/q/messages', init);
    assert.equal(response.status, 401);
    return response.headers.get('content-type');
  };
  const json = 'application/json';
  const padded = (length: number) => `${json},${'a,'.repeat(length)}`.slice(0, length);
  assert.equal(await typeFor(padded(acceptLength)), json);
  assert.equal(await typeFor(padded(acceptLength + 1)), 'application/xml; charset=utf-8');
});
