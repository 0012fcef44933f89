import type { Definition } from './definition.ts';

const PATH =
  "the path of a queue or subscription, not of a topic, or of its dead-letter queue ('orders/$deadletterqueue')";

const SEND: Definition = {
  name: 'send',
  summary: 'send messages to a queue or topic',
  arguments: [
    ['<path>', 'the path of a queue or topic'],
    ['[body]', 'the body; - reads it from the input'],
  ],
  callsNamespace: true,
  options: [
    ['--file <file>', 'read the body from a file'],
    ['--content-type <type>', 'the content type, for example application/json'],
    ['--subject <text>', 'the subject, which is also called Label'],
    ['--message-id <id>', 'the message id; default: the service makes one'],
    ['--session-id <id>', 'the session id'],
    ['--correlation-id <id>', 'the correlation id'],
    ['--partition-key <key>', 'the partition key'],
    ['--to-address <address>', 'the property To'],
    ['--reply-to <address>', 'the property ReplyTo'],
    [
      '--property <name=value>',
      'a custom property; name:type=value gives it a type: int, long, double, boolean, date or guid',
      'repeatable',
    ],
    ['--time-to-live <duration>', 'for example 90s, 5m or PT1H'],
    ['--schedule <when>', 'an instant such as 2033-11-06T08:49:37Z, or a duration from now'],
    ['--count <n>', 'send this many copies; each gets a message id of its own'],
    [
      '--batch',
      'read messages from the input or --file, one a line, as dynabus export writes them',
    ],
  ],
  examples: [
    "dynabus send orders 'Hello, bus'",
    `dynabus send orders '{"order":1}' --content-type application/json --property Quantity:int=7`,
    'dynabus send orders test --count 1000 --time-to-live 5m',
  ],
  load: async () => (await import('./commands/send.ts')).runSend,
};

const PEEK: Definition = {
  name: 'peek',
  summary: 'show messages without changing them',
  arguments: [['<path>', PATH]],
  callsNamespace: true,
  options: [
    ['--from <sequence number>', 'begin at this number; default: the first message'],
    ['--count <n>', 'show up to this many (default: 10)'],
    ['--all', 'show all messages'],
    ['--session <id>', 'of an entity with sessions: show this session only'],
  ],
  examples: [
    'dynabus peek orders',
    "dynabus peek 'orders/$deadletterqueue' --all --json",
    'dynabus peek orders --from 42 --count 1',
  ],
  load: async () => (await import('./commands/peek.ts')).runPeek,
};

const RECEIVE: Definition = {
  name: 'receive',
  summary: 'receive messages, and complete each after it is printed',
  arguments: [['<path>', PATH]],
  callsNamespace: true,
  options: [
    ['--count <n>', 'receive up to this many (default: 1)'],
    ['--wait <duration>', 'how long to wait for the next message (default: 5s)'],
    [
      '--mode <mode>',
      'complete: complete what is printed; peek-lock: leave it locked, with its lock token; delete: the service removes it first (default: complete)',
    ],
    ['--abandon', 'give the messages back after printing'],
    ['--dead-letter [reason]', 'move the messages to the dead-letter queue after printing'],
    ['--session <id>', 'receive from this session'],
    ['--any-session', 'receive from the next session that has messages'],
  ],
  examples: [
    'dynabus receive orders',
    'dynabus receive orders --count 100 --wait 1s --json',
    'dynabus receive orders --dead-letter Unreadable',
  ],
  load: async () => (await import('./commands/receive.ts')).runReceive,
};

const RESUBMIT: Definition = {
  name: 'resubmit',
  summary: 'send dead letters to their queue or subscription again',
  arguments: [['<path>', 'a queue or subscription, not a topic, or its dead-letter queue']],
  callsNamespace: true,
  options: [
    ['--all', 'all dead letters that are there now'],
    ['--sequence-numbers <numbers>', 'these dead letters, for example 1,2'],
    ['--count <n>', 'the first dead letters, up to this many'],
  ],
  examples: [
    'dynabus resubmit orders --all',
    "dynabus resubmit 'orders/$deadletterqueue' --sequence-numbers 1,2",
  ],
  load: async () => (await import('./commands/resubmit.ts')).runResubmit,
};

const PURGE: Definition = {
  name: 'purge',
  summary: 'remove all messages of a queue, a subscription or a dead-letter queue',
  arguments: [['<path>', PATH]],
  callsNamespace: true,
  options: [['--yes', 'do not ask']],
  examples: ['dynabus purge orders --yes', "dynabus purge 'orders/$deadletterqueue'"],
  load: async () => (await import('./commands/purge.ts')).runPurge,
};

/** The commands on messages. */
export const MESSAGE_COMMANDS: readonly Definition[] = [SEND, PEEK, RECEIVE, RESUBMIT, PURGE];
