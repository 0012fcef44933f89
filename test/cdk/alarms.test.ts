import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { linesOf } from '../support/log-lines.ts';
import { alarmsOf, countsOf, filtersOf, ringing } from './alarm-states.ts';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

/** Each alarm is provoked here: by lines that the real code writes, and by values that metrics would have. */

const template = synthesize();
const logged = synthesize({ accessLogs: true });
const gateway = synthesize({ amqp: AMQP });
const behindUrl = synthesize({ endpoint: 'functionUrl' });
const COSTS = readFileSync(new URL('../../docs/cost.md', import.meta.url), 'utf8');

const FUNCTION_LOGS = ['SendLogs', 'ReceiveLogs', 'SettleLogs', 'ManageLogs', 'SweepLogs'];
const GATEWAY_LOG = 'AmqpTaskLogs';
/** The sweep runs, so that its alarm is quiet. */
const SWEPT = { Invocations: [5, 5, 5] };

/** The alarms that ring once these lines came into a log, while all else is well. */
function ringingAfter(lines: readonly object[], log = 'SendLogs', of = template) {
  return ringing(of, { ...SWEPT, HealthyHostCount: [1, 1, 1], ...countsOf(of, log, lines) });
}

/** A line of Lambda about a call that has ended, as JSON logging has it. */
function reportOf(status: string) {
  return platformLine('platform.report', {
    metrics: { durationMs: 29_000, billedDurationMs: 29_000, memorySizeMB: 1024 },
    status,
  });
}

function platformLine(type: string, record: object) {
  const requestId = 'aec7a529-47f9-4090-be01-c9ed91bf83cf';
  return { time: '2026-07-09T06:05:50.581Z', type, record: { requestId, ...record } };
}

/** The levels of Lambda's own lines. */
const LEVELS = ['debug', 'info', 'warn'] as const;
type Level = (typeof LEVELS)[number];
const ifGood = (status: string, level: Level) => (status === 'success' ? level : 'warn');

/**
 * What Lambda writes at a level about a call from a cold start on, whose start and end had these outcomes. AWS
 * documents the level of each event under "System log level event mapping".
 */
function platformLines(level: Level, { init, call }: { init: string; call: string }) {
  const all: readonly (readonly [Level, object])[] = [
    ['debug', platformLine('platform.initStart', { phase: 'init' })],
    [ifGood(init, 'debug'), platformLine('platform.initRuntimeDone', { status: init })],
    [ifGood(init, 'debug'), platformLine('platform.initReport', { status: init })],
    ['info', platformLine('platform.start', { version: '$LATEST' })],
    [ifGood(call, 'debug'), platformLine('platform.runtimeDone', { status: call })],
    [ifGood(call, 'info'), reportOf(call)],
  ];
  return all
    .filter(([one]) => LEVELS.indexOf(one) >= LEVELS.indexOf(level))
    .map(([, line]) => line);
}

/** A line of the access log of the API as API Gateway would fill it in. */
function accessLine(status: number, integrationError = '-'): object {
  const [stage] = propertiesById<{ readonly AccessLogSettings: { readonly Format: string } }>(
    logged,
    'AWS::ApiGatewayV2::Stage',
  ).values();
  const format = stage?.AccessLogSettings.Format ?? '';
  assert.match(format, /\$context\.status"/);
  return JSON.parse(
    format
      .replace('$context.status', String(status))
      .replace('$context.integrationErrorMessage', integrationError)
      .replaceAll(/\$context\.[\w.]+/g, '-'),
  );
}

test('Faults: the line of one request that met a fault rings, in the log of each function', async () => {
  const { stderr } = await linesOf('test/support/write-log-lines.ts');
  for (const log of FUNCTION_LOGS) {
    assert.deepEqual(ringingAfter(stderr, log), ['AlarmsFaults'], log);
  }
});

test('Faults: a request that is refused by 503 or 504 leaves no line in the log of its function that rings', async () => {
  const { stderr, stdout } = await linesOf('test/support/write-log-lines.ts');
  // Its two refusals are on stdout, as the access log of a gateway has them, and the fault alone on stderr.
  assert.deepEqual(
    stdout.map(({ status }) => status).filter((status) => status !== undefined),
    [503, 504, 500],
  );
  assert.equal(stderr.length, 1);
  for (const log of FUNCTION_LOGS) assert.deepEqual(ringingAfter(stdout, log), []);
  assert.deepEqual(ringingAfter(stdout, GATEWAY_LOG, gateway), []);
});

test('Faults: what is left to the sweep because a table is busy is a warning, and what is wrong there rings', async () => {
  const { stderr } = await linesOf('test/support/report-background-faults.ts');
  assert.deepEqual(
    stderr.map(({ level }) => level),
    ['warn', 'warn', 'error', 'error'],
  );
  const [busy, slow, lost, wrong] = stderr.map((line) => ringingAfter([line]));
  assert.deepEqual([busy, slow], [[], []]);
  assert.deepEqual([lost, wrong], [['AlarmsFaults'], ['AlarmsFaults']]);
});

test('Faults: a function that cannot start rings by its own line', async () => {
  const { stderr } = await linesOf('lambdas/manage/handler.ts');
  assert.deepEqual(ringingAfter(stderr, 'ManageLogs'), ['AlarmsFaults']);
});

test('Faults: a call that timed out, crashed or failed rings by the report of Lambda; one that went well does not', () => {
  for (const log of FUNCTION_LOGS) {
    for (const status of ['timeout', 'error', 'failure']) {
      assert.deepEqual(ringingAfter([reportOf(status)], log), ['AlarmsFaults'], status);
    }
    assert.deepEqual(ringingAfter([reportOf('success')], log), []);
    assert.deepEqual(
      ringingAfter([{ type: 'platform.start', record: { requestId: 'x' } }], log),
      [],
    );
  }
});

test('Faults: at each level of platformLogs a failed call counts once, and a good one never', () => {
  for (const level of LEVELS) {
    const at = synthesize({ platformLogs: level });
    const count = (init: string, call: string) =>
      countsOf(at, 'ManageLogs', platformLines(level, { init, call }))['Faults.dynabus-test'];
    assert.deepEqual(count('success', 'success'), [], level);
    // A time-out; a crash, for instance for want of memory; an error that the handler threw.
    for (const call of ['timeout', 'error', 'failure']) {
      assert.deepEqual(count('success', call), [1], `${level} ${call}`);
    }
    // A start that failed is tried once more with the first call, which then fails.
    for (const init of ['error', 'timeout']) {
      assert.deepEqual(count(init, init), [1], `${level} ${init}`);
    }
  }
  assert.equal(platformLines('warn', { init: 'success', call: 'success' }).length, 0);
});

test('Faults: behind a function URL the logs of manage and of the sweep are watched', () => {
  for (const log of ['ManageLogs', 'SweepLogs']) {
    assert.deepEqual(ringingAfter([reportOf('timeout')], log, behindUrl), ['AlarmsFaults']);
  }
  assert.equal(filtersOf(behindUrl).length, 2);
});

test('Faults: with an access log, a 5xx that API Gateway itself answered rings; refusals of ours do not', () => {
  const own = accessLine(503, 'The IAM role configured on the integration cannot be assumed');
  assert.deepEqual(ringingAfter([own], 'HttpAccessLog', logged), ['AlarmsFaults']);
  for (const status of [201, 404, 500, 503, 504]) {
    assert.deepEqual(ringingAfter([accessLine(status)], 'HttpAccessLog', logged), []);
  }
});

test('GatewayFaults: a task that cannot start rings by its line; metrics, events and access lines do not', async () => {
  const { stderr } = await linesOf('gateway/main.ts');
  assert.deepEqual(ringingAfter(stderr, GATEWAY_LOG, gateway), ['AmqpAlarmsGatewayFaults']);
});

test('RequestFailures: a few refusals among many requests wake nobody, however long', () => {
  const series = { ...SWEPT, '5xx': [40, 40, 40, 40], Count: [1000, 1000, 1000, 1000] };
  assert.deepEqual(ringing(template, series), []);
});

test('RequestFailures: many refusals, or failures that never reach our code, ring after a quarter of an hour', () => {
  const many = { '5xx': [50, 60, 70], Count: [1000, 1000, 1000] };
  assert.deepEqual(ringing(template, { ...SWEPT, ...many }), ['AlarmsRequestFailures']);
  for (const failed of [
    [900, 900, 0],
    [0, 900, 900],
    [0, 0, 900],
  ]) {
    const passing = { '5xx': failed, Count: [1000, 1000, 1000] };
    assert.deepEqual(ringing(template, { ...SWEPT, ...passing }), []);
  }
});

test('RequestFailures: a stage with one request in five minutes, which always fails, rings; an idle one does not', () => {
  const few = { '5xx': [1, 1, 1], Count: [1, 1, 1] };
  assert.deepEqual(ringing(template, { ...SWEPT, ...few }), ['AlarmsRequestFailures']);
  const idle = { '5xx': [1, undefined, undefined], Count: [1, undefined, undefined] };
  assert.deepEqual(ringing(template, { ...SWEPT, ...idle }), []);
});

test('RequestFailures: behind a function URL its own counts of requests and of 5xx decide', () => {
  const many = { Url5xxCount: [50, 60, 70], UrlRequestCount: [1000, 1000, 1000] };
  assert.deepEqual(ringing(behindUrl, { ...SWEPT, ...many }), ['AlarmsRequestFailures']);
  const few = { Url5xxCount: [40, 40, 40], UrlRequestCount: [1000, 1000, 1000] };
  assert.deepEqual(ringing(behindUrl, { ...SWEPT, ...few }), []);
  // CloudWatch may have no value where nothing failed.
  const none = { Url5xxCount: [undefined], UrlRequestCount: [1000] };
  assert.deepEqual(ringing(behindUrl, { ...SWEPT, ...none }), []);
  const watched = alarmsOf(behindUrl).get('AlarmsRequestFailures')?.Metrics ?? [];
  assert.equal(JSON.stringify(watched).match(/"Namespace":"AWS\/Lambda"/g)?.length, 2);
  assert.equal(JSON.stringify(watched).match(/"Ref":"Manage[0-9A-F]{8}"/g)?.length, 2);
});

test('MissingSweeps: rings where no run began for three periods, and not where one did', () => {
  assert.deepEqual(ringing(template, { Invocations: [5, undefined, undefined, undefined] }), [
    'AlarmsMissingSweeps',
  ]);
  assert.deepEqual(ringing(template, { Invocations: [0, 0, 0] }), ['AlarmsMissingSweeps']);
  assert.deepEqual(ringing(template, { Invocations: [1, undefined, undefined] }), []);
  assert.deepEqual(ringing(template, { Invocations: [undefined, undefined, 1] }), []);
});

test('MissingSweeps: watches the sweep alone, in periods in which it must run', () => {
  for (const [sweepMinutes, seconds] of [
    [1, 300],
    [5, 300],
    [7, 420],
    [60, 3600],
  ]) {
    const alarm = alarmsOf(synthesize({ sweepMinutes })).get('AlarmsMissingSweeps');
    assert.equal(alarm?.Period, seconds);
    assert.equal(alarm?.Namespace, 'AWS/Lambda');
    assert.match(alarm?.Dimensions?.[0]?.Value.Ref ?? '', /^Sweep[0-9A-F]{8}$/);
  }
});

test('throttled tables: each ring for reads and for writes that were refused in two of three periods', () => {
  const tables = { entities: 'TablesEntities', messages: 'TablesMessages' };
  for (const [name, ref] of Object.entries(tables)) {
    for (const kind of ['Read', 'Write']) {
      const id = `Alarms${kind}Throttles${name}`;
      const alarm = alarmsOf(template).get(id);
      assert.equal(alarm?.Namespace, 'AWS/DynamoDB');
      assert.equal(alarm?.Dimensions?.length, 1);
      assert.equal(alarm?.Dimensions?.[0]?.Name, 'TableName');
      assert.ok(alarm?.Dimensions?.[0]?.Value.Ref.startsWith(ref));
      const metric = `${kind}ThrottleEvents`;
      assert.ok(ringing(template, { ...SWEPT, [metric]: [1, undefined, 1] }).includes(id));
      for (const once of [
        [1000, undefined, undefined],
        [undefined, undefined, 1000],
      ]) {
        assert.deepEqual(ringing(template, { ...SWEPT, [metric]: once }), []);
      }
    }
  }
});

test('RequestThrottles: without an access log, requests that come as fast as the throttle lets pass ring', () => {
  const slow = synthesize({ throttle: { rate: 10 } });
  assert.deepEqual(ringing(slow, { ...SWEPT, Count: [540] }), ['AlarmsRequestThrottles']);
  assert.deepEqual(ringing(slow, { ...SWEPT, Count: [539] }), []);
  assert.equal(alarmsOf(slow).get('AlarmsRequestThrottles')?.Period, 60);
});

test('RequestThrottles: with an access log, one 429 rings, and no other answer does', () => {
  assert.deepEqual(ringingAfter([accessLine(429)], 'HttpAccessLog', logged), [
    'AlarmsRequestThrottles',
  ]);
  for (const status of [201, 403, 503]) {
    assert.deepEqual(ringingAfter([accessLine(status)], 'HttpAccessLog', logged), []);
  }
});

test('RequestThrottles: behind a function URL, one call that Lambda throttled rings', () => {
  const alarm = alarmsOf(behindUrl).get('AlarmsRequestThrottles');
  assert.match(alarm?.Dimensions?.[0]?.Value.Ref ?? '', /^Manage[0-9A-F]{8}$/);
  assert.deepEqual(ringing(behindUrl, { ...SWEPT, Throttles: [1] }), ['AlarmsRequestThrottles']);
  assert.deepEqual(ringing(behindUrl, { ...SWEPT, Throttles: [0], UrlRequestCount: [1e6] }), []);
});

test('costs: nine metrics are watched, as docs/cost.md says, and one that counts lines has no value while there are none', () => {
  for (const one of [template, logged, behindUrl]) {
    const watched = [...alarmsOf(one).values()].map(
      ({ Metrics }) => Metrics?.filter(({ MetricStat }) => MetricStat !== undefined).length ?? 1,
    );
    assert.equal(
      watched.reduce((sum, count) => sum + count),
      9,
    );
    for (const { counted } of filtersOf(one)) assert.equal(counted.DefaultValue, undefined);
  }
  assert.match(COSTS, /alarms over nine metrics \(\$0\.90;/);
});

test('the topic hears of every alarm, also of those of the gateway', () => {
  const alarmTopicArn = 'arn:aws:sns:eu-central-1:111122223333:broker';
  const told = synthesize({ alarmTopicArn, amqp: AMQP, accessLogs: true });
  told.resourceCountIs('AWS::CloudWatch::Alarm', 8 + 3);
  told.allResourcesProperties('AWS::CloudWatch::Alarm', { AlarmActions: [alarmTopicArn] });
});

test('the runbook has a section for each alarm, under its name', () => {
  const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  for (const id of alarmsOf(gateway).keys()) {
    const name = id.replace(/^(Amqp)?Alarms/, '').replace(/(entities|messages)$/, '');
    assert.match(runbook, new RegExp(`^##+ .*\\b${name}\\b`, 'm'), name);
  }
});
