import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../cli.ts';
import { linesOf, runCommand, sharedNamespace } from './run-command.ts';

/** The commands on entities and the namespace. */

const CONFIG = {
  UserConfig: {
    Namespaces: [
      {
        Name: 'sbemulatorns',
        Queues: [
          { Name: 'incoming', Properties: { ForwardTo: 'orders', LockDuration: 'PT30S' } },
          { Name: 'orders', Properties: { MaxDeliveryCount: 3, RequiresSession: false } },
        ],
        Topics: [
          {
            Name: 'events',
            Properties: { DefaultMessageTimeToLive: 'PT1H', RequiresDuplicateDetection: true },
            Subscriptions: [
              { Name: 'all', Properties: { DeadLetteringOnMessageExpiration: true }, Rules: [] },
              {
                Name: 'billing',
                Properties: { ForwardDeadLetteredMessagesTo: 'orders' },
                Rules: [
                  {
                    Name: 'large',
                    Properties: {
                      FilterType: 'Sql',
                      SqlFilter: { SqlExpression: "Quantity > 100 AND a <> '&amp;\"'" },
                      Action: { SqlExpression: 'SET Large = 1' },
                    },
                  },
                  {
                    Name: 'rush',
                    Properties: {
                      FilterType: 'Correlation',
                      CorrelationFilter: {
                        Label: 'a<b',
                        Properties: { Rush: true, Level: 7, Rate: 0.5, Text: '7' },
                      },
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
    Logging: { Type: 'File' },
  },
};

/** Parses what was exported: the lists by name, so that the order does not count. */
function exported(text: string) {
  const [namespace] = JSON.parse(text).UserConfig.Namespaces;
  const { Queues, Topics } = namespace;
  return { Queues, Topics };
}

test('entities of a file are created, listed, exported, and not created again', async (t) => {
  const bus = sharedNamespace();
  const file = join(temporaryDirectory(t), 'Config.json');
  writeFileSync(file, JSON.stringify(CONFIG));
  assert.deepEqual(JSON.parse(await bus.succeed(['import', '--entities', file, '--json'])), {
    created: [
      ...['incoming', 'orders', 'events', 'events/Subscriptions/all'],
      ...['events/Subscriptions/billing', 'events/Subscriptions/billing/Rules/large'],
      'events/Subscriptions/billing/Rules/rush',
    ],
    updated: [],
    deleted: [],
    existing: [],
    different: [],
    refused: [],
  });

  const { Queues, Topics } = exported(await bus.succeed(['export', '--entities']));
  const [incoming, orders] = Queues;
  assert.equal(incoming.Properties.ForwardTo, 'orders');
  assert.deepEqual(
    [incoming.Properties.LockDuration, orders.Properties.MaxDeliveryCount],
    ['PT30S', 3],
  );
  const [{ Properties, Subscriptions }] = Topics;
  assert.equal(Properties.RequiresDuplicateDetection, true);
  const [all, billing] = Subscriptions;
  const wanted = CONFIG.UserConfig.Namespaces[0]?.Topics[0]?.Subscriptions[1];
  assert.deepEqual(billing.Rules, wanted?.Rules);
  assert.equal(billing.Properties.ForwardDeadLetteredMessagesTo, 'orders');
  // It has the rule of a subscription without rules.
  assert.equal(all.Rules, undefined);

  assert.match(await bus.succeed(['list']), TABLE);
  assert.match(await bus.succeed(['list', 'events/subscriptions/billing']), RULES);
  assert.equal((await bus.succeed(['list', 'events'])).split('\n').length, 4);

  for (const [priority, quantity] of [
    ['a', 100],
    ['b', 101],
    ['a<b', 1],
  ] as const) {
    const options = [
      '--subject',
      priority,
      '--property',
      `Quantity:int=${quantity}`,
      '--property',
      'a=x',
    ];
    const more = [
      '--property',
      'Rush:boolean=true',
      '--property',
      'Level:int=7',
      '--property',
      'Rate:double=0.5',
    ];
    await bus.succeed(['send', 'events', priority, ...options, ...more, '--property', 'Text=7']);
  }
  const bodies = async (path: string) =>
    linesOf(await bus.succeed(['peek', path, '--json'])).map((line) => JSON.parse(line).Body);
  assert.deepEqual(await bodies('events/subscriptions/all'), ['a', 'b', 'a<b']);
  assert.deepEqual(await bodies('events/subscriptions/billing'), ['b', 'a<b']);
  await bus.succeed(['receive', 'events/subscriptions/all', '--dead-letter']);
  assert.deepEqual(await bodies('events/subscriptions/all/$deadletterqueue'), ['a']);

  const copy = join(temporaryDirectory(t), 'copy.json');
  await bus.succeed(['export', '--entities', '--out', copy]);
  const again = await bus.succeed(['import', '--entities', copy]);
  assert.equal(again, 'Created 0; 7 existed already.\n');
  writeFileSync(
    copy,
    readFileSync(copy, 'utf8').replace('"MaxDeliveryCount": 3', '"MaxDeliveryCount": 4'),
  );
  const { code, stdout } = await bus.run(['import', '--entities', copy]);
  assert.deepEqual(
    [code, stdout],
    [1, 'orders exists with MaxDeliveryCount 3 in place of 4.\nCreated 0; 7 existed already.\n'],
  );
});

const TABLE = new RegExp(
  [
    '^KIND +PATH +ACTIVE +DEAD LETTER +SCHEDULED +SIZE +STATUS',
    'queue +incoming +0 +0 +0 +0 B +Active',
    'queue +orders +0 +0 +0 +0 B +Active',
    'topic +events +0 +0 B +Active',
    'subscription +events/subscriptions/all +0 +0 +0 +Active',
    'subscription +events/subscriptions/billing +0 +0 +0 +Active\n$',
  ].join('\n'),
);
const RULES = new RegExp(
  [
    '^RULE +FILTER +ACTION',
    `large +Quantity > 100 AND a <> '&amp;"' +SET Large = 1`,
    'rush +Label=a<b Rush=true Level=7 Rate=0.5 Text=7\n$',
  ].join('\n'),
);

const PRIMARY = Buffer.alloc(32, 1).toString('base64');
const SECONDARY = Buffer.alloc(32, 2).toString('base64');

test('a namespace of more than one page of entities is listed as a whole, without keys', async () => {
  const bus = sharedNamespace();
  const names = await Promise.all(
    Array.from({ length: 120 }, () =>
      bus.queue(
        `<AuthorizationRules><AuthorizationRule><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Send</AccessRights></Rights><KeyName>sender</KeyName><PrimaryKey>${PRIMARY}</PrimaryKey><SecondaryKey>${SECONDARY}</SecondaryKey></AuthorizationRule></AuthorizationRules>`,
      ),
    ),
  );
  const text = await bus.succeed(['list', '--json']);
  assert.deepEqual(
    JSON.parse(text)
      .map(({ path }: { path: string }) => path)
      .sort(),
    [...names].sort(),
  );
  assert.match(text, /"KeyName":"sender"/);
  for (const key of [PRIMARY, SECONDARY]) assert.ok(!text.includes(key));
});

test('list says that a namespace has no entities, and refuses one that does not exist', async () => {
  const bus = sharedNamespace();
  const empty = await bus.run(['list']);
  assert.deepEqual([empty.code, empty.stderr], [0, 'The namespace has no entities.\n']);
  assert.equal(await bus.succeed(['list', '--json']), '[]\n');
  assert.equal((await bus.run(['list', 'nobody'])).code, 1);
});

test('deploy-info says whether a namespace answers', async () => {
  const bus = sharedNamespace();
  await bus.queue();
  const facts = JSON.parse(await bus.succeed(['deploy-info', '--json']));
  assert.match(facts.address, /^http:\/\/localhost:\d+$/);
  const { health, tier, namespace, queues, topics } = facts;
  assert.deepEqual(
    [health, tier, namespace, queues, topics],
    ['healthy', 'Standard', 'dynabus', 1, 0],
  );
  assert.match(
    await bus.succeed(['deploy-info']),
    /^Address .*\nHealth +healthy\nRound trip +\d+ ms\n/,
  );
});

const SAS = {
  Endpoint: 'https://a1b2c3.execute-api.eu-central-1.amazonaws.com',
  RootKeySecretName: 'RootKey-abc',
  AmqpEndpoint: 'bus.example.com',
};
const IAM = { Endpoint: 'https://x.lambda-url.us-east-1.on.aws', InvokeArn: 'arn:aws:lambda:x' };

test('deploy-info prints how to get the key of a deployment, and that IAM has none', async (t) => {
  const file = join(temporaryDirectory(t), 'outputs.json');
  writeFileSync(file, JSON.stringify({ 'dynabus-prod': SAS, other: { Bucket: 'b' }, iam: IAM }));
  const { code, stdout } = await runCommand(['deploy-info', '--outputs', file]);
  assert.equal(code, 0);
  assert.ok(
    stdout.includes(
      'KEY=$(aws secretsmanager get-secret-value --secret-id RootKey-abc --query SecretString --output text --region eu-central-1)\n' +
        'export DYNABUS_CONNECTION_STRING="Endpoint=sb://a1b2c3.execute-api.eu-central-1.amazonaws.com/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=$KEY;"\n',
    ),
    stdout,
  );
  assert.match(stdout, /Access +IAM: /);
  const json = JSON.parse((await runCommand(['deploy-info', '--outputs', file, '--json'])).stdout);
  assert.deepEqual(
    json.map(({ stack, access }: Record<string, string>) => [stack, access]),
    [
      ['dynabus-prod', 'sas'],
      ['iam', 'iam'],
    ],
  );
});
