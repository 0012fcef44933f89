import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiGatewayRoutes } from '../../cdk/api-gateway-routes.ts';
import { ROUTES, type Route } from '../../lambdas/http/routing/route-table.ts';
import { propertiesById, synthesize } from './synthesize.ts';

const template = synthesize({ throttle: { rate: 300, burst: 100 } });

/** What one of the routes leads to, by its key. */
function deployedRoutes(): Readonly<Record<string, string>> {
  const routes = propertiesById<{ RouteKey: string; Target: unknown }>(
    template,
    'AWS::ApiGatewayV2::Route',
  );
  const integrations = propertiesById<{ IntegrationUri: unknown; PayloadFormatVersion: string }>(
    template,
    'AWS::ApiGatewayV2::Integration',
  );
  return Object.fromEntries(
    [...routes.values()].map(({ RouteKey, Target }) => {
      const id = /"Ref":"(?<id>\w+)"/.exec(JSON.stringify(Target))?.groups?.['id'] ?? '';
      const integration = integrations.get(id);
      assert.equal(integration?.PayloadFormatVersion, '2.0');
      const handler = /"(?<name>[A-Z][a-z]+)[0-9A-F]{8}"/.exec(
        JSON.stringify(integration?.IntegrationUri),
      );
      return [RouteKey, handler?.groups?.['name']?.toLowerCase() ?? ''];
    }),
  );
}

test('the message routes of one-segment entities go to their functions, all else to manage', () => {
  assert.deepEqual(deployedRoutes(), {
    $default: 'manage',
    'POST /{entity}/messages': 'send',
    'POST /{entity}/messages/head': 'receive',
    'DELETE /{entity}/messages/head': 'receive',
    'DELETE /{entity}/messages/{message}/{lockToken}': 'settle',
    'PUT /{entity}/messages/{message}/{lockToken}': 'settle',
    'POST /{entity}/messages/{message}/{lockToken}': 'settle',
    // The queue may be called `tenant/messages` or `a/messages/b`.
    'DELETE /{entity}/messages/messages/{lockToken}': 'manage',
    'DELETE /{entity}/messages/{message}/messages': 'manage',
    'PUT /{entity}/messages/messages/{lockToken}': 'manage',
    'PUT /{entity}/messages/{message}/messages': 'manage',
    'POST /{entity}/messages/messages/{lockToken}': 'manage',
    'POST /{entity}/messages/{message}/messages': 'manage',
  });
});

test('a route stands under the function that the table names', () => {
  for (const { method, path, function: name } of ROUTES as readonly Route[]) {
    const deployed = deployedRoutes()[`${method} ${path}`];
    if (deployed !== undefined) assert.equal(deployed, name);
    else assert.ok(name === 'manage' || path.includes('$'), `${method} ${path} is lost`);
  }
});

test('API Gateway takes every path', () => {
  for (const { path } of apiGatewayRoutes(ROUTES)) {
    assert.match(path, /^(\/(\{[\w.-]+\}|[\w.-]+))+$/);
  }
});

test('a path without a prefix, and no more requests than are set', () => {
  template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
    StageName: '$default',
    AutoDeploy: true,
    DefaultRouteSettings: { ThrottlingRateLimit: 300, ThrottlingBurstLimit: 100 },
  });
});

test('the root key is made at deployment and stands nowhere in the template', () => {
  template.hasResourceProperties('AWS::SecretsManager::Secret', {
    GenerateSecretString: { PasswordLength: 44, ExcludePunctuation: true },
  });
  template.resourceCountIs('AWS::SecretsManager::Secret', 1);
});

test('whoever deployed is told where the broker is and where its key', () => {
  assert.deepEqual(Object.keys(template.findOutputs('*')), [
    'Endpoint',
    'RootKeySecretName',
    'Explorer',
    'EntitiesTable',
    'MessagesTable',
    'Namespace',
    'Tier',
  ]);
});
