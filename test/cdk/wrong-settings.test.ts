import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AMQP, answerTo, settingsOf } from './synthesize.ts';

const PLACE = ': change it in stages.test of cdk.json.';
const amqp = (wrong: object) => ({ amqp: { ...AMQP, ...wrong } });
const MEMORY = "memoryMb of stage 'test'";
const BEHIND_URL = 'but must be left out while endpoint is functionUrl, since';
const SIZES = 'since amqp.cpu is';

/** What somebody may have typed in a stage of cdk.json, and the sentence that answers it. */
const WRONG: readonly (readonly [string, Record<string, unknown>, string])[] = [
  [
    'a wrong type: a text where a number stands',
    { sweepMinutes: '5' },
    `sweepMinutes of stage 'test' is "5", but must be a whole number from 1 to 60${PLACE}`,
  ],
  [
    'a wrong type: a number where a switch stands',
    { keepData: 1 },
    `keepData of stage 'test' is 1, but must be true or false, without quotes${PLACE}`,
  ],
  [
    'a switch in quotes',
    { pointInTimeRecovery: 'false' },
    `pointInTimeRecovery of stage 'test' is "false", but must be true or false, without quotes${PLACE}`,
  ],
  [
    'a word for a switch',
    { accessLogs: 'yes' },
    `accessLogs of stage 'test' is "yes", but must be true or false, without quotes${PLACE}`,
  ],
  [
    'nothing at all',
    { keepData: null },
    `keepData of stage 'test' is null, but must be true or false, without quotes${PLACE}`,
  ],
  [
    'a number that is not whole',
    { sweepMinutes: 1.5 },
    `sweepMinutes of stage 'test' is 1.5, but must be a whole number from 1 to 60${PLACE}`,
  ],
  [
    'below the range',
    { sweepMinutes: 0 },
    `sweepMinutes of stage 'test' is 0, but must be a whole number from 1 to 60${PLACE}`,
  ],
  [
    'above the range',
    { receiveWaitMsMax: 29_000 },
    `receiveWaitMsMax of stage 'test' is 29000, but must be a whole number from 0 to 20,000${PLACE}`,
  ],
  [
    'above what any number may be',
    { throttle: { burst: 1e300 } },
    `throttle.burst of stage 'test' is 1e+300, but must be a whole number of at least 1${PLACE}`,
  ],
  [
    'below the range, one level down',
    { throttle: { rate: -1 } },
    `throttle.rate of stage 'test' is -1, but must be a whole number of at least 1${PLACE}`,
  ],
  [
    'memory of a function that Lambda does not have',
    { memoryMb: { send: 64 } },
    `memoryMb.send of stage 'test' is 64, but must be a whole number from 128 to 10,240${PLACE}`,
  ],
  [
    'one number where there is one for each function',
    { memoryMb: 512 },
    `memoryMb of stage 'test' is 512, but must be an object that may have send, receive, settle, manage and sweep${PLACE}`,
  ],
  [
    'a reserved concurrency of none',
    { reservedConcurrency: { send: 0 } },
    `reservedConcurrency.send of stage 'test' is 0, but must be a whole number from 1 to 10,000${PLACE}`,
  ],
  [
    'a function that does not exist',
    { reservedConcurrency: { sender: 1 } },
    "reservedConcurrency.sender is not a setting of reservedConcurrency of stage 'test', which may have send, receive, settle, manage and sweep: write send instead, or remove it in stages.test of cdk.json.",
  ],
  [
    'a retention that CloudWatch Logs does not know',
    { logRetentionDays: 8 },
    `logRetentionDays of stage 'test' is 8, but must be a number of days that CloudWatch Logs knows: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653 or 9999 (for ever)${PLACE}`,
  ],
  [
    'a bad word of a list',
    { access: 'aws' },
    `access of stage 'test' is "aws", but must be sas or iam${PLACE}`,
  ],
  [
    'a good word in the wrong case',
    { tier: 'basic' },
    `tier of stage 'test' is "basic", but must be Standard, Basic or Premium${PLACE}`,
  ],
  [
    'a namespace with a space',
    { namespace: 'a b' },
    `namespace of stage 'test' is "a b", but must be a name of 2 to 50 letters, digits and hyphens that begins with a letter${PLACE}`,
  ],
  [
    'a word for a switch that may have settings',
    { push: 'yes' },
    `push of stage 'test' is "yes", but must be true, false, or an object that may have targets and memoryMb${PLACE}`,
  ],
  [
    'a setting with a typing error in there',
    { push: { target: [] } },
    "push.target is not a setting of push of stage 'test', which may have targets and memoryMb: write targets instead, or remove it in stages.test of cdk.json.",
  ],
  [
    'too little memory in there',
    { push: { memoryMb: 64 } },
    `push.memoryMb of stage 'test' is 64, but must be a whole number from 128 to 10,240${PLACE}`,
  ],
  [
    'a version of a function where all of its versions are meant',
    { push: { targets: ['arn:aws:lambda:eu-west-1:111122223333:function:worker:7'] } },
    `push.targets.0 of stage 'test' is "arn:aws:lambda:eu-west-1:111122223333:function:worker:7", but must be the ARN of a function without a version, such as arn:aws:lambda:eu-west-1:111122223333:function:worker${PLACE}`,
  ],
  [
    'one target without a list',
    { push: { targets: 'arn' } },
    `push.targets of stage 'test' is "arn", but must be a list of up to 30 ARNs of functions${PLACE}`,
  ],
  [
    'the ARN of another thing than a topic',
    { alarmTopicArn: 'arn:aws:sqs:eu-west-1:111122223333:alarms' },
    `alarmTopicArn of stage 'test' is "arn:aws:sqs:eu-west-1:111122223333:alarms", but must be the ARN of a standard SNS topic, such as arn:aws:sns:eu-west-1:111122223333:alarms${PLACE}`,
  ],
  [
    'half an ARN, at which CDK itself would stop with a stack trace',
    { alarmTopicArn: 'arn:aws:sns' },
    `alarmTopicArn of stage 'test' is "arn:aws:sns", but must be the ARN of a standard SNS topic, such as arn:aws:sns:eu-west-1:111122223333:alarms${PLACE}`,
  ],
  [
    'a long value, which is cut',
    { access: 'i'.repeat(200) },
    `access of stage 'test' is "${'i'.repeat(59)}…, but must be sas or iam${PLACE}`,
  ],
  [
    'a setting with a typing error',
    { keepDate: true },
    "keepDate is not a setting of stage 'test', which may have namespace, tier, access, endpoint, keepData, pointInTimeRecovery, logRetentionDays, memoryMb, reservedConcurrency, receiveWaitMsMax, sweepMinutes, throttle, accessLogs, platformLogs, tracing, streamWakeUps, push, alarmTopicArn and amqp: write keepData instead, or remove it in stages.test of cdk.json.",
  ],
  [
    'a setting like no other',
    { throttle: { perMinute: 1 } },
    "throttle.perMinute is not a setting of throttle of stage 'test', which may have rate and burst: remove it in stages.test of cdk.json.",
  ],
  [
    'amqp that says nothing',
    { amqp: {} },
    "amqp.certificateArn of stage 'test' is missing, but must be the ARN of a certificate in ACM, such as arn:aws:acm:eu-west-1:111122223333:certificate/1a2b: set it in stages.test of cdk.json.\n" +
      "amqp.domainName of stage 'test' is missing, but must be the lower-case name that the certificate is for, such as bus.example.com: set it in stages.test of cdk.json.",
  ],
  [
    'amqp as a switch',
    { amqp: true },
    `amqp of stage 'test' is true, but must be an object that may have certificateArn, domainName, hostedZoneId, vpcId, minTasks, maxTasks, connectionsPerTask, cpu, memoryMb and limits${PLACE}`,
  ],
  [
    'a certificate of IAM',
    amqp({ certificateArn: 'arn:aws:iam::1:x' }),
    `amqp.certificateArn of stage 'test' is "arn:aws:iam::1:x", but must be the ARN of a certificate in ACM, such as arn:aws:acm:eu-west-1:111122223333:certificate/1a2b${PLACE}`,
  ],
  [
    'an address where the name stands',
    amqp({ domainName: 'sb://bus.example.com' }),
    `amqp.domainName of stage 'test' is "sb://bus.example.com", but must be the lower-case name that the certificate is for, such as bus.example.com${PLACE}`,
  ],
  [
    'the name of a zone where its id stands',
    amqp({ hostedZoneId: 'example.com' }),
    `amqp.hostedZoneId of stage 'test' is "example.com", but must be the id of a hosted zone in Route 53, such as Z0123456789ABC${PLACE}`,
  ],
  [
    'a word for a VPC',
    amqp({ vpcId: 'default' }),
    `amqp.vpcId of stage 'test' is "default", but must be the id of a VPC, such as vpc-0a1b2c3d${PLACE}`,
  ],
  [
    'no task at least',
    amqp({ minTasks: 0 }),
    `amqp.minTasks of stage 'test' is 0, but must be a whole number from 1 to 100${PLACE}`,
  ],
  [
    'more tasks at least than at most',
    amqp({ minTasks: 5, maxTasks: 4 }),
    `amqp.maxTasks of stage 'test' is 4, but must be at least amqp.minTasks, which is 5${PLACE}`,
  ],
  [
    'more tasks at least than there are at most by default',
    amqp({ minTasks: 5 }),
    `amqp.maxTasks of stage 'test' is 4, but must be at least amqp.minTasks, which is 5${PLACE}`,
  ],
  [
    'too few connections',
    amqp({ connectionsPerTask: 9 }),
    `amqp.connectionsPerTask of stage 'test' is 9, but must be a whole number from 10 to 50,000${PLACE}`,
  ],
  [
    'a CPU that Fargate does not have',
    amqp({ cpu: 300 }),
    `amqp.cpu of stage 'test' is 300, but must be 256, 512, 1024 or 2048${PLACE}`,
  ],
  [
    'memory that Fargate does not have',
    amqp({ memoryMb: 768 }),
    `amqp.${MEMORY} is 768, but must be from 512 to 2048 in steps of 512, ${SIZES} 256 and Fargate has no other sizes for it${PLACE}`,
  ],
  [
    'memory by default that Fargate does not have for the CPU',
    amqp({ cpu: 1024 }),
    `amqp.${MEMORY} is 512, but must be from 2048 to 8192 in steps of 1024, ${SIZES} 1024 and Fargate has no other sizes for it${PLACE}`,
  ],
  [
    'memory with its unit',
    amqp({ memoryMb: '1 GB' }),
    `amqp.${MEMORY} is "1 GB", but must be a whole number, of a size that Fargate has for amqp.cpu${PLACE}`,
  ],
  [
    'an unknown setting of amqp',
    amqp({ maxTask: 2 }),
    "amqp.maxTask is not a setting of amqp of stage 'test', which may have certificateArn, domainName, hostedZoneId, vpcId, minTasks, maxTasks, connectionsPerTask, cpu, memoryMb and limits: write maxTasks instead, or remove it in stages.test of cdk.json.",
  ],
  [
    'a limit of none',
    amqp({ limits: { requestsPerAddress: { rate: 0 } } }),
    `amqp.limits.requestsPerAddress.rate of stage 'test' is 0, but must be a whole number of at least 1${PLACE}`,
  ],
  [
    'an unknown limit',
    amqp({ limits: { requests: 1 } }),
    "amqp.limits.requests is not a setting of amqp.limits of stage 'test', which may have openConnectionsPerAddress, newConnectionsPerAddress, requestsPerAddress and operationsPerRule: remove it in stages.test of cdk.json.",
  ],
  [
    'a level that Lambda does not have',
    { platformLogs: 'error' },
    `platformLogs of stage 'test' is "error", but must be warn, info or debug${PLACE}`,
  ],
  [
    'tracing by a word',
    { tracing: 'active' },
    `tracing of stage 'test' is "active", but must be true or false, without quotes${PLACE}`,
  ],
  [
    'an endpoint that is none',
    { endpoint: 'alb' },
    `endpoint of stage 'test' is "alb", but must be apiGateway or functionUrl${PLACE}`,
  ],
  [
    'settings of functions that do not exist behind a function URL',
    {
      endpoint: 'functionUrl',
      memoryMb: { send: 512, manage: 512 },
      reservedConcurrency: { settle: 1 },
    },
    `memoryMb.send of stage 'test' is 512, ${BEHIND_URL} its one function, manage, serves all requests${PLACE}\n` +
      `reservedConcurrency.settle of stage 'test' is 1, ${BEHIND_URL} its one function, manage, serves all requests${PLACE}`,
  ],
  [
    'access logs of a function URL',
    { endpoint: 'functionUrl', accessLogs: true },
    `accessLogs of stage 'test' is true, ${BEHIND_URL} function URLs have no access log${PLACE}`,
  ],
  [
    'access logs by a word, of a function URL that throttles',
    { endpoint: 'functionUrl', accessLogs: 'yes', throttle: {} },
    `accessLogs of stage 'test' is "yes", but must be true or false, without quotes${PLACE}\n` +
      `throttle of stage 'test' is {}, ${BEHIND_URL} reservedConcurrency.manage bounds it${PLACE}\n` +
      `accessLogs of stage 'test' is "yes", ${BEHIND_URL} function URLs have no access log${PLACE}`,
  ],
  [
    'amqp beside access by IAM',
    { access: 'iam', amqp: AMQP },
    `amqp of stage 'test' is {"certificateArn":"arn:aws:acm:eu-central-1:111122223333:cer…, but must be left out while access is iam, since AMQP clients sign with keys and access iam has none${PLACE}`,
  ],
];

for (const [what, stage, sentence] of WRONG) {
  test(`in cdk.json, ${what}: the answer names setting, stage, value, what is allowed and where`, () => {
    assert.equal(
      answerTo(() => settingsOf(stage)),
      sentence,
    );
  });
}
