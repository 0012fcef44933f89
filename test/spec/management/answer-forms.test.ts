import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry } from '../../support/atom-client.ts';
import { JSON_TYPE } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** Whether management answers in JSON or in ATOM (docs/semantics/management.md, G25). */

const ATOM_TYPE = 'application/atom+xml;type=entry;charset=utf-8';

/** The form of an answer with these headers; `body` = that of a PUT, absent = a GET. */
async function formOf(
  broker: TestBroker,
  accept: string | undefined,
  body?: 'json' | 'atom',
): Promise<string> {
  const type = body === 'json' ? JSON_TYPE : ATOM_TYPE;
  const answer = await broker.request(body === undefined ? 'GET' : 'PUT', 'orders', {
    headers: {
      ...(accept !== undefined && { Accept: accept }),
      ...(body !== undefined && { 'Content-Type': type, 'If-Match': '*' }),
    },
    ...(body !== undefined && {
      body: body === 'json' ? '{"kind":"queue"}' : entry('QueueDescription'),
    }),
  });
  expectStatus(answer, 200);
  const found = answer.headers.get('content-type');
  if (found === JSON_TYPE) assert.equal(answer.json<{ kind: string }>().kind, 'queue');
  else assert.equal(found, ATOM_TYPE);
  return found === JSON_TYPE ? 'json' : 'atom';
}

/** An Accept header, and the forms of answers to a GET, to a PUT in JSON and to one in ATOM. */
const ACCEPTS: readonly (readonly [string | undefined, string, string, string])[] = [
  [undefined, 'atom', 'json', 'atom'],
  ['', 'atom', 'json', 'atom'],
  ['*/*', 'atom', 'json', 'atom'],
  ['application/*', 'atom', 'json', 'atom'],
  ['text/html', 'atom', 'json', 'atom'],
  ['application/jsonx, x/application/json', 'atom', 'json', 'atom'],
  [`${'x/y, '.repeat(300)}application/json`, 'atom', 'json', 'atom'],
  ['application/json', 'json', 'json', 'json'],
  ['APPLICATION/JSON; charset=utf-8', 'json', 'json', 'json'],
  // What axios sends on its own.
  ['application/json, text/plain, */*', 'atom', 'json', 'atom'],
  ['application/json, */*;q=0.1', 'json', 'json', 'json'],
  ['application/atom+xml, application/json;q=0.5', 'atom', 'atom', 'atom'],
  ['application/json;q=0.5', 'json', 'json', 'json'],
  ['application/json; q=0.5, application/xml; q=0.4', 'json', 'json', 'json'],
  ['application/xml, application/json', 'atom', 'json', 'atom'],
  ['application/json;q=0.5, application/atom+xml', 'atom', 'atom', 'atom'],
  ['application/json;q=0.9, text/xml', 'atom', 'atom', 'atom'],
  ['application/json;q=0', 'atom', 'json', 'atom'],
  ['application/json;q=0, application/xml', 'atom', 'atom', 'atom'],
  ['application/xml', 'atom', 'atom', 'atom'],
  // What the vendor's client for Java sends; the one for Python sends 'application/xml', the others nothing.
  ['application/xml, application/atom+xml', 'atom', 'atom', 'atom'],
  ['application/atom+xml', 'atom', 'atom', 'atom'],
  ['application/atom+xml, application/xml', 'atom', 'atom', 'atom'],
  ['application/atom+xml;type=entry;charset=utf-8', 'atom', 'atom', 'atom'],
];

test('the Accept header decides the form of an answer, and else the form of the body', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('orders'), 201);
  for (const [accept, ...forms] of ACCEPTS) {
    const found = [
      await formOf(broker, accept),
      await formOf(broker, accept, 'json'),
      await formOf(broker, accept, 'atom'),
    ];
    assert.deepEqual(found, forms, accept);
  }
});
