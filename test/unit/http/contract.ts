import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { manageRoutes } from '../../../lambdas/http/management/routes.ts';
import { openApiDocument } from '../../../lambdas/http/openapi/document.ts';
import { openApiRoutes } from '../../../lambdas/http/openapi/routes.ts';
import { receiveRoutes } from '../../../lambdas/http/routes/receive.ts';
import { sendRoutes } from '../../../lambdas/http/routes/send.ts';
import { settleRoutes } from '../../../lambdas/http/routes/settle.ts';
import { transactionRoutes } from '../../../lambdas/http/routes/transactions.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { ROOT, token } from '../../support/atom-client.ts';
import { FakeBroker } from '../../support/fake-broker.ts';
import { fakeManageDependencies } from '../../support/fake-entity-store.ts';

/** The OpenAPI document as a client reads it: parsed from JSON, with resolved references. */

/** A schema with examples. */
export interface Media {
  readonly schema: object;
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

/** Contents by media type. */
export type Content = Readonly<Record<string, Media>>;

/** An operation of the document. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly object[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, object>>;
}

/** A response of the document. */
export interface Answer {
  readonly description: string;
  readonly content?: Content;
}

/** The whole document. */
export const contract = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(contract, 'contract');

/** Validates values against the schemas of the document. */
export function schemaOf(schema: object): ValidateFunction {
  const absolute = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"contract#/');
  return ajv.compile(JSON.parse(absolute) as object);
}

/** What a reference of the document refers to. */
export function resolved<T>(part: object): T {
  if (!('$ref' in part)) return part as T;
  const keys = String(part.$ref).slice(2).split('/');
  return keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], contract) as T;
}

/** An example request of the document, and its entity where that matters. */
export interface Shown {
  readonly name: string;
  readonly entity?: string | undefined;
  readonly init: RequestInit;
}

/** Every operation with its address and its answers. */
export const OPERATIONS = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    path,
    method: method.toUpperCase(),
    answers: Object.entries(operation.responses).map(
      ([status, answer]) => [Number(status), resolved<Answer>(answer)] as const,
    ),
  })),
);
/** An operation with its address and its answers. */
export type Described = (typeof OPERATIONS)[number];

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example: string;
}

/** The URL of an operation, with the examples of its parameters. */
export function addressOf({ path, parameters }: Described, entity: string): string {
  const examples = parameters.map((one) => resolved<Parameter>(one));
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'entity' ? entity : String(examples.find((one) => one.name === name)?.example),
  );
  const query = examples.filter((one) => one.in === 'query' && one.required === true);
  if (query.length === 0) return address;
  return `${address}?${query.map(({ name, example }) => `${name}=${example}`).join('&')}`;
}

/** The path of each of the four kinds of descriptions in the examples. */
export const ENTITIES: Readonly<Record<string, string>> = {
  queue: 'orders',
  topic: 'events',
  subscription: 'events/Subscriptions/billing',
};

/** The complete app over stores in memory, with a queue, a topic, a subscription and two messages. */
export async function startWithAll({ path, method }: Described) {
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
  if (path.includes('{consumer}') && method !== 'PUT') {
    const body = JSON.stringify(exampleOf('putConsumer', 'example'));
    await call('PUT', 'orders/consumers/worker', {
      body,
      headers: { 'content-type': 'application/json' },
    });
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

/** The entity of the example of a path. */
export const entityOf = (path: string): string => (path.includes('$resubmit') ? DEAD : 'orders');

/** The schema of a request in JSON for each of the descriptions. */
export const REQUESTS: Readonly<Record<string, object>> = {
  queue: { $ref: '#/components/schemas/QueueRequest' },
  topic: { $ref: '#/components/schemas/TopicRequest' },
  subscription: { $ref: '#/components/schemas/SubscriptionRequest' },
};

function exampleOf(operation: string, name: string): unknown {
  const { requestBody } = OPERATIONS.find(({ operationId }) => operationId === operation) ?? {};
  return Object.values(requestBody?.content ?? {})[0]?.examples[name]?.value;
}

/** Every example request of the document: each example body, and no body where it is optional. */
export function shownRequests({ requestBody }: Described): readonly Shown[] {
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples }]) =>
    Object.entries(examples).map(([name, { value }]) => ({
      name: `${name} of ${type}`,
      entity: ENTITIES[name],
      init: {
        body: bodyOf(type, value),
        headers: { 'content-type': type === '*/*' ? 'text/plain' : type },
      },
    })),
  );
  return requestBody?.required ? bodies : [{ name: 'no body', init: {} }, ...bodies];
}

/** The body of a request as the document shows it: bytes are in base64. */
function bodyOf(type: string, value: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isBytes = type === 'application/vnd.dynabus.amqp';
  return isBytes ? new Uint8Array(Buffer.from(value, 'base64')) : value;
}

/** Checks an answer against its description in the document. */
export function requireDescribed(type: string | null, text: string, content: Content = {}): void {
  if (text === '' && type === null) return;
  const media = content[type ?? ''] ?? content['*/*'];
  assert.ok(media, `${type} is described`);
  if (media === content['*/*'] || !/json$/.test(type ?? '')) return;
  const fits = schemaOf(media.schema);
  assert.ok(fits(JSON.parse(text)), `${text}: ${JSON.stringify(fits.errors)}`);
}
