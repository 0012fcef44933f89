import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readStageSettings } from '../../cdk/settings.ts';
import { AMQP, answerTo } from './synthesize.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

const STAGES = { dev: {}, prod: { amqp: AMQP } };
const KNOWN = 'since -c takes stage, tier, access, endpoint and amqp';
const ELSEWHERE = '; if it was not typed, it stands in context of cdk.json or cdk.context.json.';
const JSON_EXAMPLE = `write -c amqp='{"certificateArn": "arn:aws:acm:…", "domainName": "bus.example.com"}'.`;

/** What somebody may have typed after `-c`, or in the context of cdk.json. */
const WRONG_CONTEXT: readonly (readonly [string, Record<string, unknown>, string])[] = [
  [
    'an unknown stage',
    { stage: 'staging' },
    'There is no stage "staging" in cdk.json, only dev and prod: choose one of them by -c stage=…, or add it to stages in cdk.json.',
  ],
  [
    'a stage with a typing error',
    { stage: 'pord' },
    'There is no stage "pord" in cdk.json, only dev and prod: choose prod by -c stage=…, or add it to stages in cdk.json.',
  ],
  [
    'a stage that only every object has',
    { stage: 'constructor' },
    'There is no stage "constructor" in cdk.json, only dev and prod: choose one of them by -c stage=…, or add it to stages in cdk.json.',
  ],
  ['no stage', { stage: undefined }, 'No stage is chosen: add -c stage= with dev or prod.'],
  [
    'no stages at all',
    { stages: {} },
    'cdk.json has no stage: add one to stages in its context, for instance "dev": {}.',
  ],
  ['an empty stage', { stage: '' }, 'No stage is chosen: add -c stage= with dev or prod.'],
  [
    'a stage that is no text',
    { stage: { name: 'dev' } },
    'There is no stage {"name":"dev"} in cdk.json, only dev and prod: choose one of them by -c stage=…, or add it to stages in cdk.json.',
  ],
  [
    'a stage whose name cannot name a stack',
    { stage: 'Dev', stages: { Dev: {} } },
    'stage of stage \'Dev\' is "Dev", but must be a name of up to 31 lower-case letters, digits and hyphens that begins with a letter: change it in stages.Dev of cdk.json.',
  ],
  [
    'stages that are a text',
    { stages: 'dev' },
    'stages is "dev", but must be an object with an entry for each stage: change it in context of cdk.json.',
  ],
  [
    'stages that are a list',
    { stages: ['dev'] },
    'stages is ["dev"], but must be an object with an entry for each stage: change it in context of cdk.json.',
  ],
  [
    'a stage without an object',
    { stages: { dev: true } },
    "Stage 'dev' is true, but must be an object with its settings, and {} takes the defaults: change stages.dev in cdk.json.",
  ],
  [
    'a bad word for access',
    { access: 'IAM' },
    'access of stage \'dev\' is "IAM", but must be sas or iam: change it in -c access.',
  ],
  [
    'a bad word for endpoint',
    { endpoint: 'url' },
    'endpoint of stage \'dev\' is "url", but must be apiGateway or functionUrl: change it in -c endpoint.',
  ],
  [
    'a function URL for a stage that throttles',
    { endpoint: 'functionUrl', stages: { dev: { throttle: { rate: 5 } } } },
    `throttle of stage 'dev' is {"rate":5}, but must be left out while endpoint is functionUrl, since reservedConcurrency.manage bounds it: change it in stages.dev of cdk.json.`,
  ],
  [
    'an empty tier',
    { tier: '' },
    'tier of stage \'dev\' is "", but must be Standard, Basic or Premium: change it in -c tier.',
  ],
  ['JSON that breaks off', { amqp: '{' }, `-c amqp is "{", which is no JSON: ${JSON_EXAMPLE}`],
  ['an empty amqp', { amqp: '' }, `-c amqp is "", which is no JSON: ${JSON_EXAMPLE}`],
  [
    'JSON that lost its quotes in the shell',
    { amqp: '{domainName: bus.example.com}' },
    `-c amqp is "{domainName: bus.example.com}", which is no JSON: ${JSON_EXAMPLE}`,
  ],
  [
    'amqp switched off by a word',
    { amqp: 'false' },
    "amqp of stage 'dev' is false, but must be an object that may have certificateArn, domainName, hostedZoneId, vpcId, minTasks, maxTasks, connectionsPerTask, cpu, memoryMb and limits: change it in -c amqp.",
  ],
  [
    'half of amqp',
    { amqp: JSON.stringify({ ...AMQP, domainName: undefined }) },
    "amqp.domainName of stage 'dev' is missing, but must be the lower-case name that the certificate is for, such as bus.example.com: set it in -c amqp.",
  ],
  [
    'access by IAM for a stage that has amqp',
    { stage: 'prod', access: 'iam' },
    `amqp of stage 'prod' is {"certificateArn":"arn:aws:acm:eu-central-1:111122223333:cer…, but must be left out while access is iam, since AMQP clients sign with keys and access iam has none: change it in stages.prod of cdk.json.`,
  ],
  [
    'a key with a typing error',
    { acces: 'iam' },
    `-c acces is unknown, ${KNOWN}: write access instead, or remove it${ELSEWHERE}`,
  ],
  [
    'a key in the wrong case',
    { Stage: 'prod' },
    `-c Stage is unknown, ${KNOWN}: write stage instead, or remove it${ELSEWHERE}`,
  ],
  [
    'a key like no other',
    { region: 'eu-west-1' },
    `-c region is unknown, ${KNOWN}: remove it${ELSEWHERE}`,
  ],
  [
    'a setting that only a stage has',
    { sweepMinutes: '5' },
    'sweepMinutes is a setting of a stage, which -c does not take: set it in stages of cdk.json; -c takes stage, tier, access, endpoint and amqp.',
  ],
  [
    'two faults, with a sentence for each',
    { acces: 'iam', tier: 'Gold' },
    `-c acces is unknown, ${KNOWN}: write access instead, or remove it${ELSEWHERE}\n` +
      'tier of stage \'dev\' is "Gold", but must be Standard, Basic or Premium: change it in -c tier.',
  ],
];

for (const [what, context, sentence] of WRONG_CONTEXT) {
  test(`on the command line, ${what}: the answer says what is wrong and what to write`, () => {
    assert.equal(
      answerTo(() => readStageSettings({ stage: 'dev', stages: STAGES, ...context })),
      sentence,
    );
  });
}

test('what CDK puts into the context itself is no wrong key', () => {
  const account = 'account=111122223333:region=eu-west-1';
  const ofCdk = [
    '@aws-cdk/core:failSynthOnValidationErrors',
    'aws:cdk:bundling-stacks',
    'aws-cdk:enableDiffNoFail',
    'aws-cdk-lib/core:some',
    'cdk-migrate',
    'cli-telemetry',
    'acknowledged-issue-numbers',
    `availability-zones:${account}`,
    `vpc-provider:${account}:filter.vpc-id=vpc-1:returnAsymmetricSubnets=true`,
    `hosted-zone:${account}:domainName=example.com`,
    `ssm:${account}:parameterName=/a`,
  ];
  for (const key of ofCdk) {
    readStageSettings({ stage: 'dev', stages: STAGES, [key]: 'whatever' });
  }
});

test('context that a person has set for all projects is none of ours', () => {
  const context = { stage: 'dev', stages: STAGES, owner: 'me' };
  assert.equal(readStageSettings(context, { owner: 'me' }).stage, 'dev');
  assert.throws(() => readStageSettings(context), /^SettingsError: -c owner is unknown/);
});

test('the app tells which stage it has made', async () => {
  const { stderr } = await run(process.execPath, ['--import', 'tsx', 'cdk/app.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      CDK_CONTEXT_JSON: JSON.stringify({
        stage: 'dev',
        stages: { dev: { keepData: false } },
        'aws:cdk:bundling-stacks': [],
      }),
    },
  });
  assert.match(
    stderr,
    /^Stage 'dev': tier Standard, access sas, endpoint apiGateway, keepData false\.$/m,
  );
});

/** Runs a program that is to fail, and resolves with how it did. */
async function failing(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const settled = run(process.execPath, [...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  });
  return await settled.then(
    () => assert.fail('it went well'),
    ({ code, stderr }: { readonly code: number; readonly stderr: string }) => ({ code, stderr }),
  );
}

test('the app ends with code 1 and says on stderr nothing but the sentence: no stack trace', async () => {
  const context = { stage: 'dev', stages: { dev: { sweepMinutes: 0 } }, acces: 'iam' };
  const { code, stderr } = await failing(['--import', 'tsx', 'cdk/app.ts'], {
    CDK_CONTEXT_JSON: JSON.stringify(context),
  });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `-c acces is unknown, ${KNOWN}: write access instead, or remove it${ELSEWHERE}\n` +
      "sweepMinutes of stage 'dev' is 0, but must be a whole number from 1 to 60: change it in stages.dev of cdk.json.\n",
  );
});

test('a VPC that cannot be looked up without credentials is answered by a sentence, too', async () => {
  const stages = { dev: { amqp: { ...AMQP, vpcId: 'vpc-0a1b2c3d' } } };
  const { code, stderr } = await failing(['--import', 'tsx', 'cdk/app.ts'], {
    CDK_CONTEXT_JSON: JSON.stringify({ stage: 'dev', stages, 'aws:cdk:bundling-stacks': [] }),
    CDK_DEFAULT_ACCOUNT: '',
    CDK_DEFAULT_REGION: '',
  });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^amqp\.vpcId is looked up in your AWS account, but .+leave amqp\.vpcId out\.\n$/,
  );
});

test('npm run synth with a wrong -c shows that sentence; of a stage that is given twice the last one counts', async () => {
  const cdk = ['node_modules/aws-cdk/bin/cdk', 'synth', '--quiet'];
  const { code, stderr } = await failing([...cdk, '-c', 'stage=dev', '-c', 'stage=pord']);
  assert.equal(code, 1);
  const [sentence, ...rest] = stderr.trim().split('\n');
  assert.match(
    sentence ?? '',
    /^There is no stage "pord" in cdk\.json, only dev and prod: choose prod/,
  );
  assert.deepEqual(rest, ['node --import tsx cdk/app.ts: Subprocess exited with error 1']);
});
