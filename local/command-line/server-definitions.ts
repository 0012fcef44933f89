import type { Definition } from './definition.ts';

/** `dynabus start`, whose code is the whole service. */
export const START: Definition = {
  name: 'start',
  summary: 'serve a namespace on this machine until a signal ends it',
  arguments: [],
  callsNamespace: false,
  options: [
    ['--port <n>', 'port to listen on, 0 for any free one (default: 5300)'],
    [
      '--host <host>',
      'address to listen on; any that other machines can reach needs --key (default: 127.0.0.1)',
    ],
    ['--data <directory>', 'keep the data in this directory; default: in memory'],
    [
      '--engine <name>',
      'dynamodb-local or dynoxide; default: DYNABUS_ENGINE, or the first that can run here',
    ],
    [
      '--tier <tier>',
      'basic, standard or premium: sets the limits of entities (default: standard)',
    ],
    [
      '--key <key>',
      'key of RootManageSharedAccessKey; default: DYNABUS_KEY, or SAS_KEY_VALUE, which is public',
    ],
    ['--config <file>', 'the entities to create, as a Config.json of the vendor’s emulator'],
    [
      '--ready-file <file>',
      'when ready, write the address and the connection string to this file; it is removed at the end',
    ],
    [
      '--allowed-host <name>',
      'also serve requests for this host, for example a container’s name',
      'repeatable',
    ],
    [
      '--allowed-origin <origin>',
      'also serve web pages of this origin, for example http://localhost:3000',
      'repeatable',
    ],
    [
      '--certificate <file>',
      'keep the certificate for TLS clients in this file, and its key beside it, for the next start',
    ],
    [
      '--stream',
      'hear of messages that other servers on the same engine store, by the stream of the table',
    ],
    ['--json', 'print JSON when ready, and nothing else'],
    ['--quiet', 'print the address only'],
  ],
  exitCodes:
    '0 ended by a signal; 1 the server or its engine failed, or the port is taken; 2 wrong input',
  examples: [
    'dynabus start',
    'dynabus start --port 0 --data ./data',
    'dynabus start --ready-file ready.json',
  ],
  load: async () => (await import('./commands/start.ts')).runStart,
};

/** `dynabus proxy`, by which AMQP clients of this machine use a deployed namespace. */
export const PROXY: Definition = {
  name: 'proxy',
  summary: 'let messaging clients of this machine use a deployed namespace until a signal ends it',
  arguments: [],
  callsNamespace: false,
  options: [
    [
      '--to <connection string>',
      'the namespace over HTTPS, or the address of a deployment with IAM; default: DYNABUS_CONNECTION_STRING',
    ],
    [
      '--stack <name>',
      'the namespace of this stack, whose tables it uses with your AWS credentials',
    ],
    [
      '--region <region>',
      'the region of the stack or the tables; default: that of your credentials',
    ],
    [
      '--direct <json>',
      'its tables, as directSettings of the construct gives them; default: DYNABUS_DIRECT',
    ],
    [
      '--stream',
      'with --stack or --direct: the stream of the messages table wakes waiting receivers',
    ],
    ['--port <n>', 'port to listen on, 0 for any free one (default: 5672)'],
    [
      '--host <host>',
      'address to listen on; any that other machines can reach needs TLS (default: 127.0.0.1)',
    ],
    ['--tls-cert <file>', 'certificate as PEM, for clients that use TLS; needs --tls-key'],
    ['--tls-key <file>', 'its private key as PEM'],
    ['--insecure-host', 'accept a --host that other machines can reach without TLS'],
    ['--json', 'print the log only, one line of JSON an event; default if there is no terminal'],
    ['--quiet', 'print the connection string only'],
  ],
  exitCodes:
    '0 ended by a signal; 1 the namespace cannot be used, or the port is taken; 2 wrong input',
  examples: [
    'dynabus proxy --to "$DYNABUS_CONNECTION_STRING"',
    'dynabus proxy --stack dynabus-prod',
    'dynabus proxy --stack dynabus-prod --region eu-west-1 --port 0 --json',
    'dynabus proxy --direct "$DIRECT_SETTINGS"',
  ],
  load: async () => (await import('./commands/proxy.ts')).runProxy,
};

/** `dynabus explorer`, a web page for people. */
export const EXPLORER: Definition = {
  name: 'explorer',
  summary: 'show a namespace in a web page, with your rights, until a signal ends it',
  arguments: [],
  callsNamespace: false,
  options: [
    [
      '--to <connection string>',
      'the namespace, or the address of a deployment with IAM; default: DYNABUS_CONNECTION_STRING',
    ],
    ['--region <region>', 'with the address of a deployment: its region, if it does not tell it'],
    ['--read-only', 'refuse everything that may change something'],
    ['--port <n>', 'port to listen on (default: any free one)'],
    ['--quiet', 'print the address only'],
  ],
  exitCodes: '0 ended by a signal; 1 the port is taken; 2 wrong input',
  examples: [
    'dynabus explorer',
    'dynabus explorer --to "$DYNABUS_CONNECTION_STRING" --read-only',
    'dynabus explorer --to https://a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com',
  ],
  load: async () => (await import('./commands/explorer.ts')).runExplorer,
};
