import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Match } from 'aws-cdk-lib/assertions';
import { VARIABLES } from '../../shared/app/variables.ts';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

const behindUrl = synthesize({ endpoint: 'functionUrl' });
const behindIam = synthesize({ endpoint: 'functionUrl', access: 'iam' });

const FUNCTION = 'AWS::Lambda::Function';
const PERMISSION = 'AWS::Lambda::Permission';

/** The ids of the functions of a template, without the hash at the end. */
function functionsOf(template: typeof behindUrl): readonly string[] {
  return [...propertiesById(template, FUNCTION).keys()].map((id) => id.slice(0, -8));
}

/** Who may call manage, by the resource policy of the function. */
function permissionsOf(template: typeof behindUrl): readonly object[] {
  const all = propertiesById<{ readonly FunctionName: object }>(template, PERMISSION).values();
  return [...all]
    .filter(({ FunctionName }) => /"Manage[0-9A-F]{8}"/.test(JSON.stringify(FunctionName)))
    .map(({ FunctionName: _, ...others }) => others);
}

test('a function URL leads to one function with every route; there is no HTTP API', () => {
  for (const template of [behindUrl, behindIam]) {
    template.resourceCountIs('AWS::ApiGatewayV2::Api', 0);
    template.resourceCountIs('AWS::Lambda::Url', 1);
    assert.deepEqual(functionsOf(template), ['Manage', 'Declare', 'Sweep']);
  }
  assert.deepEqual(functionsOf(synthesize()), [
    'Send',
    'Receive',
    'Settle',
    'Manage',
    'Declare',
    'Sweep',
  ]);
  synthesize().resourceCountIs('AWS::Lambda::Url', 0);
});

test('with tokens everybody may call the URL, and nobody the function in any other way', () => {
  behindUrl.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'NONE' });
  assert.deepEqual(permissionsOf(behindUrl), [
    { Action: 'lambda:InvokeFunctionUrl', FunctionUrlAuthType: 'NONE', Principal: '*' },
    { Action: 'lambda:InvokeFunction', InvokedViaFunctionUrl: true, Principal: '*' },
  ]);
});

test('with IAM only the policies of callers let them in', () => {
  behindIam.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'AWS_IAM' });
  assert.deepEqual(permissionsOf(behindIam), []);
});

test('answers are not streamed: Lambda passes on a whole result of up to 6 MB', () => {
  behindUrl.hasResourceProperties('AWS::Lambda::Url', {
    InvokeMode: Match.absent(),
    Cors: Match.absent(),
  });
});

test('the function is told that a function URL calls it, and otherwise the same', () => {
  const told = (template: typeof behindUrl) => {
    const all = propertiesById<{ readonly Environment: { readonly Variables: object } }>(
      template,
      FUNCTION,
    );
    const [, manage] = [...all].find(([id]) => id.startsWith('Manage')) ?? [];
    return manage?.Environment.Variables;
  };
  for (const access of ['sas', 'iam']) {
    const usual = told(synthesize({ access }));
    const url = told(synthesize({ access, endpoint: 'functionUrl' }));
    assert.deepEqual(url, { ...usual, [VARIABLES.endpoint]: 'functionUrl' });
  }
});

test('the function stops when API Gateway would, and has the memory and concurrency of manage', () => {
  const template = synthesize({
    endpoint: 'functionUrl',
    memoryMb: { manage: 1769 },
    reservedConcurrency: { manage: 50 },
  });
  template.hasResourceProperties(FUNCTION, {
    Timeout: 29,
    MemorySize: 1769,
    ReservedConcurrentExecutions: 50,
  });
  synthesize().hasResourceProperties(FUNCTION, { Timeout: 29, MemorySize: 256 });
});

test('whoever deployed is told the same as with API Gateway: the address without a slash at its end', () => {
  const names = (template: typeof behindUrl) => Object.keys(template.findOutputs('*'));
  assert.deepEqual(names(behindUrl), names(synthesize()));
  assert.deepEqual(names(behindIam), names(synthesize({ access: 'iam' })));
  const { Value: value } = behindUrl.findOutputs('Endpoint')['Endpoint'] ?? {};
  // https://HOST/ is split at its slashes: 'https:', '', HOST, ''.
  assert.match(
    JSON.stringify(value),
    /^\{"Fn::Join":\["",\["https:\/\/",\{"Fn::Select":\[2,\{"Fn::Split":\["\/",\{"Fn::GetAtt":\["ManageFunctionUrl\w+","FunctionUrl"\]\}\]\}\]\}\]\]\}$/,
  );
});

test('policies of callers name the function', () => {
  const { Value: value } = behindIam.findOutputs('InvokeArn')['InvokeArn'] ?? {};
  assert.match(JSON.stringify(value), /^\{"Fn::GetAtt":\["Manage[0-9A-F]{8}","Arn"\]\}$/);
});

test('the sweep and the AMQP gateway are as with API Gateway', () => {
  const amqp = synthesize({ endpoint: 'functionUrl', amqp: AMQP, accessLogs: true });
  amqp.resourceCountIs('AWS::ECS::Service', 1);
  amqp.resourceCountIs('AWS::Events::Rule', 1);
  const usual = synthesize({ amqp: AMQP, accessLogs: true });
  for (const type of ['AWS::ECS::TaskDefinition', 'AWS::Events::Rule']) {
    assert.deepEqual([...propertiesById(amqp, type)], [...propertiesById(usual, type)]);
  }
});
