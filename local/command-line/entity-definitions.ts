import type { Definition } from './definition.ts';

const LIST: Definition = {
  name: 'list',
  summary: 'list entities with their counts of messages, or the rules of a subscription',
  arguments: [
    ['[path]', 'a topic lists its subscriptions, a subscription its rules; default: the namespace'],
  ],
  callsNamespace: true,
  options: [],
  examples: [
    'dynabus list',
    'dynabus list events',
    'dynabus list events/subscriptions/billing --json',
  ],
  load: async () => (await import('./commands/list.ts')).runList,
};

const EXPORT: Definition = {
  name: 'export',
  summary: 'write all messages of an entity, one a line, or the entities of the namespace',
  arguments: [
    [
      '[path]',
      'the queue or subscription, not a topic, or its dead-letter queue, whose messages to write',
    ],
  ],
  callsNamespace: true,
  options: [
    [
      '--entities',
      'write queues, topics, subscriptions, rules and consumers, as Config.json of the emulator',
    ],
    ['--keys', 'with --entities: write shared access policies with their keys, too'],
    ['--out <file>', 'write to a file; default: the output'],
    ['--session <id>', 'of an entity with sessions: write this session only'],
  ],
  examples: [
    'dynabus export orders --out orders.ndjson',
    "dynabus export 'orders/$deadletterqueue' | head -n 1",
    'dynabus export --entities --out Config.json',
  ],
  load: async () => (await import('./commands/export.ts')).runExport,
};

const IMPORT: Definition = {
  name: 'import',
  summary: 'send the messages of an export, or create the entities of a file',
  arguments: [['[path]', 'the queue or topic to send to']],
  callsNamespace: true,
  options: [
    [
      '--in <file>',
      'read from a file, which is checked before anything is sent; default: the input',
    ],
    ['--entities <file>', 'create the entities of a Config.json that are missing'],
    [
      '--update',
      'with --entities: make those that exist as in the file, with their rules and consumers',
    ],
  ],
  examples: [
    'dynabus import orders --in orders.ndjson',
    'dynabus export orders | dynabus import archive',
    'dynabus import --entities Config.json',
    'dynabus import --entities Config.json --update',
  ],
  load: async () => (await import('./commands/import.ts')).runImport,
};

const CONSUMER: Definition = {
  name: 'consumer',
  summary: 'list, set or remove consumers, which push messages of a queue to a target',
  arguments: [
    ['<verb>', 'one of list, set and remove'],
    ['[path]', 'the queue, subscription or dead-letter queue; list without it takes all'],
    ['[name]', 'the consumer to set or remove'],
  ],
  callsNamespace: true,
  options: [
    ['--target <target>', 'with set: a Lambda function by its ARN, or an address of this machine'],
    ['--batch <n>', 'with set: messages of one call at most; default: 10'],
    ['--window <duration>', 'with set: how long a call waits for more messages; default: 0s'],
    ['--concurrency <n>', 'with set: calls at the same time at most; default: 10'],
    ['--rate <n>', 'with set: messages a second at most; default: no limit'],
    ['--timeout <duration>', 'with set: how long one call may take; default: 1m'],
    ['--disabled', 'with set: push no messages; they stay in the queue'],
  ],
  examples: [
    'dynabus consumer list',
    'dynabus consumer set orders worker --target http://127.0.0.1:3000/orders --batch 100 --window 1s',
    "dynabus consumer list 'orders/$deadletterqueue' --json",
    'dynabus consumer remove orders worker',
  ],
  load: async () => (await import('./commands/consumer.ts')).runConsumer,
};

const DEPLOY_INFO: Definition = {
  name: 'deploy-info',
  summary: 'say whether a namespace answers, or how to reach a deployed one',
  arguments: [],
  callsNamespace: true,
  options: [
    ['--outputs <file>', 'the outputs of a deployment: npx cdk deploy --outputs-file <file>'],
  ],
  examples: ['dynabus deploy-info', 'dynabus deploy-info --outputs cdk-outputs.json'],
  load: async () => (await import('./commands/deploy-info.ts')).runDeployInfo,
};

/** The commands on entities and the namespace. */
export const ENTITY_COMMANDS: readonly Definition[] = [LIST, CONSUMER, EXPORT, IMPORT, DEPLOY_INFO];
