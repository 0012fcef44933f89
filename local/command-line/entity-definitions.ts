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
    ['--entities', 'write queues, topics, subscriptions and rules, as Config.json of the emulator'],
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
    ['--update', 'with --entities: make those that exist as in the file, with their rules'],
  ],
  examples: [
    'dynabus import orders --in orders.ndjson',
    'dynabus export orders | dynabus import archive',
    'dynabus import --entities Config.json',
    'dynabus import --entities Config.json --update',
  ],
  load: async () => (await import('./commands/import.ts')).runImport,
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
export const ENTITY_COMMANDS: readonly Definition[] = [LIST, EXPORT, IMPORT, DEPLOY_INFO];
