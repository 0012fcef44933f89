import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { type HttpApp, httpHandler } from '../../lambdas/http/lambda.ts';
import { manageRoutes } from '../../lambdas/http/management/routes.ts';
import { combineRoutes } from '../../lambdas/http/routing/combine-routes.ts';
import { readHttpSettings } from '../../shared/app/settings.ts';
import { VARIABLES } from '../../shared/app/variables.ts';
import { entry, ROOT, token } from '../support/atom-client.ts';
import { fakeManageDependencies } from '../support/fake-entity-store.ts';
import { propertiesById, synthesize } from './synthesize.ts';

function authorizationTypes(access: 'sas' | 'iam'): readonly string[] {
  const routes = propertiesById<{ AuthorizationType: string }>(
    synthesize({ access }),
    'AWS::ApiGatewayV2::Route',
  );
  return [...new Set([...routes.values()].map(({ AuthorizationType }) => AuthorizationType))];
}

test('with tokens no route asks IAM, with IAM every route does', () => {
  assert.deepEqual(authorizationTypes('sas'), ['NONE']);
  assert.deepEqual(authorizationTypes('iam'), ['AWS_IAM']);
});

test('with IAM there is no key: no secret, no right to read one, no output that names it', () => {
  const template = synthesize({ access: 'iam' });
  template.resourceCountIs('AWS::SecretsManager::Secret', 0);
  assert.doesNotMatch(JSON.stringify(template.toJSON()), /secretsmanager/i);
  assert.deepEqual(Object.keys(template.findOutputs('*')), [
    'Endpoint',
    'InvokeArn',
    'EntitiesTable',
    'MessagesTable',
    'Namespace',
    'Tier',
  ]);
  assert.match(JSON.stringify(template.findOutputs('InvokeArn')), /:execute-api:.*\/\$default"/);
});

const QUEUE = entry('QueueDescription');

/** Management behind API Gateway or a function URL with IAM, and what it answers. */
function startBehindIam(rootKey = ROOT, endpoint = 'apiGateway') {
  const dependencies = fakeManageDependencies(rootKey);
  const app: HttpApp = combineRoutes(dependencies, manageRoutes(dependencies));
  const environment = { [VARIABLES.access]: 'iam', [VARIABLES.endpoint]: endpoint };
  const handler = httpHandler(app, async () => {}, environment);
  return async (method: string, rawPath: string, said: Partial<APIGatewayProxyEventV2> = {}) =>
    handler({
      rawPath,
      rawQueryString: '',
      headers: {},
      isBase64Encoded: false,
      routeKey: '$default',
      ...said,
      requestContext: {
        domainName: 'b.example',
        http: { method },
        authorizer: { iam: { userArn: 'arn:aws:iam::111122223333:user/somebody' } },
        ...said.requestContext,
      },
    } as APIGatewayProxyEventV2);
}

test('whom IAM let through may do it, with whatever token or none', async () => {
  const call = startBehindIam();
  const signed = { authorization: 'AWS4-HMAC-SHA256 Credential=…' };
  assert.equal((await call('PUT', '/q', { body: QUEUE, headers: signed })).statusCode, 201);
  assert.equal((await call('GET', '/q')).statusCode, 200);
  const expired = { authorization: token('', ROOT, 0) };
  assert.equal((await call('GET', '/q', { headers: expired })).statusCode, 200);
});

test('a forward needs no second token: none could say what IAM would', async () => {
  const call = startBehindIam();
  await call('PUT', '/q', { body: QUEUE });
  const body = entry('QueueDescription', '<ForwardTo>q</ForwardTo>');
  assert.equal((await call('PUT', '/from', { body })).statusCode, 201);
});

/** Paths under which IAM may have judged another one than they lead to. */
const OTHER_SPELLINGS = [
  ...['/public/../a/b', '/public/%2e%2e/a/b', '/public/..%2fx/../../a/b'],
  ...['/a%2Fb', '/a%2fb', '/%61/b', '//a/b', '/a/b//'],
];

test('row 23: a path that stands for another than IAM judged is forbidden, whatever token it has', async () => {
  const call = startBehindIam();
  const sas = { authorization: token('', ROOT).replaceAll('localhost%3A5300', 'b.example') };
  await call('PUT', '/a/b', { body: QUEUE });
  for (const path of OTHER_SPELLINGS) {
    // An empty segment is refused before anybody asks who calls.
    const refused = /\/\/|%2f\/|\/%2f/i.test(path) ? 400 : 403;
    for (const headers of [{}, sas]) {
      assert.equal((await call('GET', path, { headers })).statusCode, refused, path);
      assert.equal((await call('DELETE', path, { headers })).statusCode, refused, path);
    }
  }
  for (const path of ['/./a/b', '/../a/b', '/a//b']) {
    assert.equal((await call('DELETE', path)).statusCode, 400, `${path} is no name`);
  }
  assert.equal((await call('GET', '/a/b')).statusCode, 200);
});

test('with a function URL IAM judges no path: each spelling leads to what it says', async () => {
  const call = startBehindIam(ROOT, 'functionUrl');
  assert.equal((await call('PUT', '/a/b', { body: QUEUE })).statusCode, 201);
  for (const path of ['/a/b', '/a%2Fb', '/a%2fb', '/%61/b', '/A/b']) {
    assert.equal((await call('GET', path)).statusCode, 200, path);
  }
  assert.equal((await call('PUT', '/gr%C3%B6%C3%9Fe', { body: QUEUE })).statusCode, 400);
  for (const path of ['/public/../a/b', '/public/%2e%2e/a/b']) {
    assert.equal((await call('DELETE', path)).statusCode, 404, path);
  }
  for (const path of ['/a/%252Fb', '//a/b', '/a//b']) {
    assert.equal((await call('DELETE', path)).statusCode, 400, path);
  }
  assert.equal((await call('GET', '/a/b')).statusCode, 200);
});

for (const endpoint of ['apiGateway', 'functionUrl']) {
  test(`row 23: a request about which IAM was not asked ends in an error, and an alarm: ${endpoint}`, () =>
    requireAuthorizer(endpoint));
}

async function requireAuthorizer(endpoint: string): Promise<void> {
  const call = startBehindIam(ROOT, endpoint);
  const nobody = [undefined, null, { iam: undefined }, { iam: null }, { iam: {} }, { jwt: {} }];
  for (const authorizer of [...nobody, { iam: { userArn: null } }, { iam: { userArn: '' } }]) {
    const requestContext = { authorizer } as unknown;
    await assert.rejects(
      call('GET', '/q', { requestContext } as Partial<APIGatewayProxyEventV2>),
      /the route \$default has no IAM authorizer/,
    );
  }
}

test('without IAM what an event says of a caller does not count', async () => {
  const dependencies = fakeManageDependencies(ROOT);
  const app: HttpApp = combineRoutes(dependencies, manageRoutes(dependencies));
  const requestContext = {
    domainName: 'b.example',
    http: { method: 'GET' },
    authorizer: { iam: {} },
  };
  const event = { rawPath: '/q', rawQueryString: '', headers: {}, requestContext } as unknown;
  const handler = httpHandler(app, async () => {}, {});
  assert.equal((await handler(event as APIGatewayProxyEventV2)).statusCode, 401);
});

test('a function that serves behind IAM needs no secret, and any other word stops it', () => {
  const environment = { NAMESPACE: 'n', RECEIVE_WAIT_MS_MAX: '1' };
  assert.throws(() => readHttpSettings(environment), /ROOT_KEY_SECRET is not set/);
  assert.equal(readHttpSettings({ ...environment, ACCESS: 'iam' }).rootKeySecret, undefined);
  assert.throws(
    () => readHttpSettings({ ...environment, ACCESS: 'IAM' }),
    /ACCESS has an unknown value: IAM/,
  );
});
