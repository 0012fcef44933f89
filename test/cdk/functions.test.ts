import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Match } from 'aws-cdk-lib/assertions';
import { SERVICE_TIMEOUT } from '../../cdk/entities/authorization-rule.ts';
import { VARIABLES } from '../../shared/app/variables.ts';
import { LEASE_MS } from '../../shared/storage/maintenance/sweep-lease.ts';
import { RUN_UNTIL_MS } from '../../shared/storage/maintenance/sweep-run.ts';
import { propertiesById, synthesize } from './synthesize.ts';

interface FunctionProperties {
  readonly Description: string;
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
  readonly LoggingConfig: { readonly LogGroup: { readonly Ref: string } };
  readonly ReservedConcurrentExecutions?: number;
  readonly Timeout: number;
}

const FUNCTION = 'AWS::Lambda::Function';

test('six functions, all made alike: arm64, current Node, no traces, few lines of Lambda itself', () => {
  const template = synthesize();
  template.resourceCountIs(FUNCTION, 6);
  template.allResourcesProperties(FUNCTION, {
    Architectures: ['arm64'],
    Runtime: 'nodejs24.x',
    TracingConfig: Match.absent(),
    // Alarms count lines that Lambda takes for INFO: a higher level would drop them.
    LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO', SystemLogLevel: 'WARN' },
  });
});

test('Lambda logs its own lines at the level that is set, and ours are logged at each', () => {
  for (const [platformLogs, SystemLogLevel] of [
    ['warn', 'WARN'],
    ['info', 'INFO'],
    ['debug', 'DEBUG'],
  ]) {
    synthesize({ platformLogs }).allResourcesProperties(FUNCTION, {
      LoggingConfig: { ApplicationLogLevel: 'INFO', SystemLogLevel },
    });
  }
});

test('functions are traced if that is set', () => {
  synthesize({ tracing: true }).allResourcesProperties(FUNCTION, {
    TracingConfig: { Mode: 'Active' },
  });
});

test('every function writes to a log of its own, kept for the days that are set', () => {
  const template = synthesize({ logRetentionDays: 14 });
  template.resourceCountIs('AWS::Logs::LogGroup', 6);
  template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 14 });
  const logs = [...functionsOf(template).values()].map(
    ({ LoggingConfig }) => LoggingConfig.LogGroup.Ref,
  );
  assert.equal(new Set(logs).size, 6);
});

test('memory and reserved concurrency are those of the stage', () => {
  const template = synthesize({ memoryMb: { send: 2048 }, reservedConcurrency: { send: 7 } });
  template.hasResourceProperties(FUNCTION, { MemorySize: 2048, ReservedConcurrentExecutions: 7 });
  const reserved = [...functionsOf(template).values()].map(
    (one) => one.ReservedConcurrentExecutions,
  );
  assert.deepEqual(
    reserved.filter((count) => count !== undefined),
    [7],
  );
});

const TABLES = [VARIABLES.entitiesTable, VARIABLES.messagesTable, VARIABLES.namespace];
const HTTP = [...TABLES, VARIABLES.tier, VARIABLES.receiveWaitMsMax];
const DECLARE = [...TABLES, VARIABLES.tier, VARIABLES.parameterPrefix];

for (const [access, settings] of [
  ['sas', [...HTTP, VARIABLES.rootKeySecret]],
  ['iam', [...HTTP, VARIABLES.access]],
] as const) {
  test(`with ${access}, functions behind HTTP are told all settings, the sweep only of its data`, () => {
    const told = [...functionsOf(synthesize({ access }))].map(([id, { Environment }]) => ({
      id: id.replace(/[0-9A-F]{8}$/, ''),
      names: Object.keys(Environment.Variables).sort(),
    }));
    assert.deepEqual(
      told,
      [
        ...['Send', 'Receive', 'Settle', 'Manage'].map((id) => [id, settings] as const),
        ['Declare', DECLARE] as const,
        ['Sweep', TABLES] as const,
      ].map(([id, names]) => ({ id, names: [...names].sort() })),
    );
  });
}

test('the wait of a receive is capped as set', () => {
  synthesize({ receiveWaitMsMax: 1500 }).hasResourceProperties(FUNCTION, {
    Environment: { Variables: { [VARIABLES.receiveWaitMsMax]: '1500' } },
  });
});

test('the tier is told as set', () => {
  for (const tier of ['Basic', 'Standard']) {
    synthesize({ tier }).hasResourceProperties(FUNCTION, {
      Environment: { Variables: { [VARIABLES.tier]: tier } },
    });
  }
});

test('the sweep runs at the rate that is set', () => {
  synthesize().hasResourceProperties('AWS::Events::Rule', { ScheduleExpression: 'rate(1 minute)' });
  synthesize({ sweepMinutes: 5 }).hasResourceProperties('AWS::Events::Rule', {
    ScheduleExpression: 'rate(5 minutes)',
    State: 'ENABLED',
  });
});

test('a sweep that failed is called neither again by Lambda nor by its rule', () => {
  const template = synthesize();
  const [sweepId] = [...functionsOf(template)].find(([id]) => id.startsWith('Sweep')) ?? [];
  template.resourceCountIs('AWS::Lambda::EventInvokeConfig', 2);
  template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: sweepId },
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
  });
  template.hasResourceProperties('AWS::Events::Rule', {
    Targets: [{ RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } }],
  });
});

test('a declaration has time for all its tries while CloudFormation waits, and none later', () => {
  const template = synthesize();
  const [declareId, { Timeout: seconds }] = [...functionsOf(template)].find(([id]) =>
    id.startsWith('Declare'),
  ) ?? ['', { Timeout: 0 }];
  template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: declareId },
    MaximumEventAgeInSeconds: 900,
  });
  // Lambda waits for a minute before the second try, and for two before the third.
  assert.ok(3 * seconds + 3 * 60 < SERVICE_TIMEOUT.toSeconds());
});

test('a sweep holds its lease for as long as its function may run, and begins nothing new at its end', () => {
  const [, { Timeout }] = [...functionsOf(synthesize())].find(([id]) => id.startsWith('Sweep')) ?? [
    '',
    { Timeout: 0 },
  ];
  assert.equal(LEASE_MS, Timeout * 1000);
  const lastBegun = Math.max(...Object.values(RUN_UNTIL_MS));
  assert.ok(lastBegun <= Timeout * 1000 - 15_000, `${lastBegun} ms`);
});

function functionsOf(template: ReturnType<typeof synthesize>) {
  return propertiesById<FunctionProperties>(template, FUNCTION);
}
