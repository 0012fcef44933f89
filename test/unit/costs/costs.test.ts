import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type MeasuredMessages, readMeasured } from '../../../bench/costs/measured.ts';
import {
  billOfIdle,
  billOfMessages,
  billOfWaiting,
  othersOf,
  sumOf,
} from '../../../bench/costs/model.ts';
import {
  DEFAULT_STAGE,
  DEFAULT_WAIT_MS,
  defaultWait,
  dollars,
  idleSum,
} from '../../../bench/costs/print.ts';
import { withSections } from '../../../bench/costs/section.ts';
import { readStageSettings } from '../../../cdk/settings.ts';

const measured = readMeasured();
const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
/** A document without the spaces and dashes that only align its tables. */
const plain = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{2,}/g, '--');

function messagesOf(body: string, batch: number): MeasuredMessages {
  const row = measured.messages.find((each) => each.body === body && each.batch === batch);
  assert.ok(row, `${body} in batches of ${batch} was measured`);
  return row;
}

test('the cost tables of the documentation are those that the measurements give', () => {
  const document = read('docs/cost.md');
  assert.equal(plain(withSections(document, measured)), plain(document));
});

test('the sums in the README are those of the cost tables', () => {
  const readme = read('README.md');
  const sum = (batch: number) =>
    dollars(sumOf(billOfMessages(DEFAULT_STAGE, messagesOf('200 B', batch))));
  assert.match(readme, new RegExp(`\\$${sum(100)} in batches of 100, \\$${sum(1)} one by one`));
  assert.match(readme, new RegExp(`\\$${dollars(idleSum(measured, 100))}; with the AMQP gateway`));
});

test('the tables are those of the settings by default', () => {
  const { memoryMb, receiveWaitMsMax, platformLogs, tracing, endpoint } = readStageSettings({
    stage: 's',
    stages: { s: {} },
  });
  assert.equal(memoryMb.receive, DEFAULT_STAGE.receiveMegabytes);
  assert.equal(memoryMb.manage, DEFAULT_STAGE.receiveMegabytes);
  assert.deepEqual(
    [memoryMb.send, memoryMb.settle],
    [DEFAULT_STAGE.megabytes, DEFAULT_STAGE.megabytes],
  );
  assert.equal(receiveWaitMsMax, DEFAULT_WAIT_MS);
  assert.equal(endpoint, DEFAULT_STAGE.endpoint);
  assert.deepEqual([platformLogs, tracing], ['warn', false]);
});

test('a receiver that loops costs at most ten dollars a month, and less than with half or a tenth of the wait', () => {
  const looping = sumOf(defaultWait(measured));
  assert.ok(looping <= 10, `$${looping}`);
  for (const wait of measured.waits.filter(({ waitMs }) => waitMs < DEFAULT_WAIT_MS)) {
    const shorter = sumOf(billOfWaiting(DEFAULT_STAGE, wait, false));
    assert.ok(shorter > looping, `$${shorter} with ${wait.waitMs} ms`);
  }
});

test('an idle namespace of no entities, of a hundred and of five thousand differs by the walks alone', () => {
  const [none, some, many] = measured.idle.map(billOfIdle);
  assert.ok(none && some && many);
  assert.equal(none.sweepFunction, many.sweepFunction);
  assert.deepEqual(
    measured.idle.map(({ usual }) => usual),
    [
      { read: 1, write: 2 },
      { read: 1, write: 2 },
      { read: 1, write: 2 },
    ],
  );
  assert.ok(many.sweepDatabase - none.sweepDatabase < 0.3);
});

const FLAT: MeasuredMessages = {
  body: 'x',
  batch: 1,
  operations: {
    send: { write: 2, read: 0, requests: 2, httpRequests: 1, roundTrips: 2, cpuMs: 1 },
    receive: { write: 1, read: 1, requests: 2, httpRequests: 1, roundTrips: 2, cpuMs: 1 },
    settle: { write: 1, read: 0, requests: 1, httpRequests: 1, roundTrips: 1, cpuMs: 1 },
  },
};

test('a bill has each item: units, requests, time by memory, logs and traces', () => {
  const stage = { ...DEFAULT_STAGE, megabytes: 1769, receiveMegabytes: 1769 };
  const quiet = billOfMessages(stage, FLAT);
  assert.equal(quiet.endpoint, 3);
  assert.equal(quiet.invocations.toFixed(2), '0.60');
  assert.equal(quiet.database.toFixed(3), (4 * 0.625 + 0.125).toFixed(3));
  assert.equal(quiet.logs + quiet.traces, 0);
  // 3 ms of processor time and five round trips of 5 ms, with 1.73 GB.
  const seconds = 28e-3 * 1e6 * (1769 / 1024);
  assert.equal(quiet.duration.toFixed(6), (seconds * 0.0000133334).toFixed(6));
  const half = billOfMessages({ ...stage, megabytes: 1769 / 2, receiveMegabytes: 1769 / 2 }, FLAT);
  assert.equal(half.duration.toFixed(6), ((quiet.duration / 2) * (31 / 28)).toFixed(6));
  const loud = billOfMessages(
    { ...stage, endpoint: 'functionUrl', logsCalls: true, traces: true },
    FLAT,
  );
  assert.equal(loud.endpoint, 0);
  assert.equal(loud.logs.toFixed(3), (3 * 650e-3 * 0.5).toFixed(3));
  assert.equal(loud.traces.toFixed(3), (3 * 0.05 * 5).toFixed(3));
});

test('others are paid by request: ten messages in one of SQS and SNS, one operation or event a message elsewhere', () => {
  const [single, many] = [othersOf(1), othersOf(100)];
  assert.deepEqual(
    [single.sqs, single.snsAndSqs, single.eventBridgeAndSqs, single.azure].map(dollars),
    ['1.20', '1.30', '1.80', '2.40'],
  );
  assert.deepEqual([many.sqs, many.snsAndSqs, many.eventBridgeAndSqs, many.azure].map(dollars), [
    '0.12',
    '0.13',
    '1.08',
    '2.40',
  ]);
});
