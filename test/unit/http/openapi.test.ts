import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { manageRoutes } from '../../../lambdas/http/atom/routes.ts';
import { openApiDocument } from '../../../lambdas/http/openapi/document.ts';
import { openApiRoutes } from '../../../lambdas/http/openapi/routes.ts';
import { receiveRoutes } from '../../../lambdas/http/routes/receive.ts';
import { sendRoutes } from '../../../lambdas/http/routes/send.ts';
import { settleRoutes } from '../../../lambdas/http/routes/settle.ts';
import { transactionRoutes } from '../../../lambdas/http/routes/transactions.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { ROUTES, type Route } from '../../../lambdas/http/routing/route-table.ts';
import { ROOT, token } from '../../support/atom-client.ts';
import { FakeBroker } from '../../support/fake-broker.ts';
import { fakeManageDependencies } from '../../support/fake-entity-store.ts';
import { startApp } from '../../support/http-fixture.ts';

/** The OpenAPI document as a client reads it: parsed from JSON, with resolved references. */

interface Media {
  readonly schema: object;
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

type Content = Readonly<Record<string, Media>>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly object[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, object>>;
}

interface Answer {
  readonly description: string;
  readonly content?: Content;
}

const contract = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(contract, 'contract');

/** Validates values against the schemas of the document. */
function schemaOf(schema: object): ValidateFunction {
  const absolute = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"contract#/');
  return ajv.compile(JSON.parse(absolute) as object);
}

function resolved<T>(part: object): T {
  if (!('$ref' in part)) return part as T;
  const keys = String(part.$ref).slice(2).split('/');
  return keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], contract) as T;
}

/** An example request of the document, and its entity where that matters. */
interface Shown {
  readonly name: string;
  readonly entity?: string | undefined;
  readonly init: RequestInit;
}

const OPERATIONS = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    path,
    method: method.toUpperCase(),
    answers: Object.entries(operation.responses).map(
      ([status, answer]) => [Number(status), resolved<Answer>(answer)] as const,
    ),
  })),
);
type Described = (typeof OPERATIONS)[number];

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

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example: string;
}

/** The URL of an operation, with the examples of its parameters. */
function addressOf({ path, parameters }: Described, entity: string): string {
  const examples = parameters.map((one) => resolved<Parameter>(one));
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'entity' ? entity : String(examples.find((one) => one.name === name)?.example),
  );
  const query = examples.filter((one) => one.in === 'query' && one.required === true);
  if (query.length === 0) return address;
  return `${address}?${query.map(({ name, example }) => `${name}=${example}`).join('&')}`;
}

/** The path of each of the four kinds of descriptions in the examples. */
const ENTITIES: Readonly<Record<string, string>> = {
  queue: 'orders',
  topic: 'events',
  subscription: 'events/Subscriptions/billing',
};

/** The complete app over stores in memory, with a queue, a topic, a subscription and two messages. */
async function startWithAll({ path, method }: Described) {
  const dependencies = {
    ...fakeManageDependencies(ROOT),
    broker: new FakeBroker(['orders', DEAD]),
  };
  const groups = [sendRoutes, receiveRoutes, settleRoutes, transactionRoutes].map((routes) =>
    routes(dependencies),
  );
  const app = combineRoutes(dependencies, ...groups, openApiRoutes(), manageRoutes(dependencies));
  const call = async (verb: string, address: string, init: RequestInit = {}) =>
    app.request(`http://localhost:5300/${address}`, {
      ...init,
      method: verb,
      headers: { authorization: token('', ROOT), ...(init.headers as Record<string, string>) },
    });
  for (const [name, address] of Object.entries(ENTITIES)) {
    const body = String(exampleOf('putEntity', name));
    assert.equal((await call('PUT', address, { body })).status, 201);
  }
  const rule = `${ENTITIES['subscription']}/Rules/large`;
  if (path.includes('{rule}') && method !== 'PUT') {
    await call('PUT', rule, { body: String(exampleOf('putRule', 'example')) });
  }
  for (const messageId of ['m-1', 'm-2']) {
    dependencies.broker.put(entityOf(path), {
      message: { messageId, body: new TextEncoder().encode('{}'), properties: {} },
      state: STATES.find(([verb]) => path.endsWith(verb))?.[1] ?? 'Active',
    });
  }
  if (/\{lockToken\}$|transactions$/.test(path)) await call('POST', 'orders/messages/head');
  return call;
}

const DEAD = 'orders/$deadletterqueue';
const STATES = [
  ['$deferred', 'Deferred'],
  ['$cancelScheduled', 'Scheduled'],
] as const;

const entityOf = (path: string): string => (path.includes('$resubmit') ? DEAD : 'orders');

function exampleOf(operation: string, name: string): unknown {
  const { requestBody } = OPERATIONS.find(({ operationId }) => operationId === operation) ?? {};
  return Object.values(requestBody?.content ?? {})[0]?.examples[name]?.value;
}

/** Every example request of the document: each example body, and no body where it is optional. */
function shownRequests({ requestBody }: Described): readonly Shown[] {
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples }]) =>
    Object.entries(examples).map(([name, { value }]) => ({
      name: `${name} of ${type}`,
      entity: ENTITIES[name],
      init: {
        body: typeof value === 'string' ? value : JSON.stringify(value),
        headers: { 'content-type': type === '*/*' ? 'text/plain' : type },
      },
    })),
  );
  return requestBody?.required ? bodies : [{ name: 'no body', init: {} }, ...bodies];
}

for (const described of OPERATIONS) {
  for (const { name, entity, init } of shownRequests(described)) {
    test(`${described.operationId} accepts the example (${name}), and its response matches the document`, async () => {
      const call = await startWithAll(described);
      const { method, path, answers } = described;
      // The entities of the examples exist already, so the examples update them.
      const ifMatch: Record<string, string> = entity === undefined ? {} : { 'if-match': '*' };
      const headers = { ...(init.headers as Record<string, string>), ...ifMatch };
      for (const query of path.endsWith('/head') ? ['?maxMessages=2', '', ''] : ['']) {
        const address = addressOf(described, entity ?? entityOf(path)).slice(1);
        const response = await call(method, `${address}${query}`, { ...init, headers });
        const text = await response.text();
        assert.ok(response.ok, `${response.status}: ${text}`);
        const [, { content }] = answers.find(([status]) => status === response.status) ?? [0, {}];
        requireDescribed(response.headers.get('content-type'), text, content);
      }
    });
  }
}

function requireDescribed(type: string | null, text: string, content: Content = {}): void {
  if (text === '' && type === null) return;
  const media = content[type ?? ''] ?? content['*/*'];
  assert.ok(media, `${type} is described`);
  if (media === content['*/*'] || !/json$/.test(type ?? '')) return;
  const fits = schemaOf(media.schema);
  assert.ok(fits(JSON.parse(text)), `${text}: ${JSON.stringify(fits.errors)}`);
}

const ODD_VALUES = ['', 'x', -1, 0, 1, 1.5, 1e9, true, [], [[]], {}, { x: 1 }];

/** Variants of a value, each with one change, of every kind and at every place. */
function* spoilt(value: unknown): Generator<unknown> {
  yield* ODD_VALUES;
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    yield [...value, value[0]];
    for (const [i, item] of value.entries()) {
      for (const other of spoilt(item)) yield value.with(i, other);
    }
    return;
  }
  yield { ...value, unknown: 1 };
  for (const [key, item] of Object.entries(value)) {
    const { [key]: _, ...others } = value as Record<string, unknown>;
    yield others;
    for (const other of spoilt(item)) yield { ...value, [key]: other };
  }
}

/** Texts whose form no schema expresses: dates, numbers of 64 bits, base64. */
const FORMS =
  /"(?:enqueuedBefore|ScheduledEnqueueTimeUtc|\$long)":"x?"|"\$long":(?!")|"Body":"x","BodyEncoding"/;

for (const described of OPERATIONS) {
  const [type, media] = Object.entries(described.requestBody?.content ?? {}).at(-1) ?? [];
  if (media === undefined || type === undefined || !/json$/.test(type)) continue;
  test(`${described.operationId} accepts exactly the bodies that match its schema`, async () => {
    const call = await startWithAll(described);
    const fits = schemaOf(media.schema);
    const address = addressOf(described, entityOf(described.path)).slice(1);
    for (const { value } of Object.values(media.examples)) {
      for (const json of spoilt(value)) {
        const body = JSON.stringify(json);
        if (FORMS.test(body)) continue;
        const headers = { 'content-type': type };
        const response = await call(described.method, address, { body, headers });
        assert.equal(response.status !== 400, fits(json), `${body}: ${await response.text()}`);
      }
    }
  });
}
