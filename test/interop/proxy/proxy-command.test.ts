import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { makeCertificate } from '../../../server/tls/make-certificate.ts';
import { temporaryDirectory } from '../../local/cli.ts';
import { type Result, runCommand, runProcess } from '../../local/command-line/run-command.ts';
import { engineOfTests, TABLES } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { type FakeCloudFormation, startCloudFormation } from './fake-cloudformation.ts';
import { awsOfTests, directSettings, startProxyProcess } from './proxy-process.ts';

const NO_RETRY = { retryOptions: { maxRetries: 0, timeoutInMs: 5000 } };
/** Without them, nothing on this machine gives credentials. */
const NO_CREDENTIALS = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_PROFILE: undefined,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nowhere',
  AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
};

describe('dynabus proxy', () => {
  let namespace: TestNamespace;
  let cloudFormation: FakeCloudFormation;
  before(async () => {
    namespace = await startNamespace();
    cloudFormation = await startCloudFormation({
      shop: {
        Endpoint: 'https://example.com',
        EntitiesTable: TABLES.entities,
        MessagesTable: TABLES.messages,
        Namespace: namespace.settings.namespace,
        Tier: 'Standard',
      },
      other: { Endpoint: 'https://example.com' },
      empty: {},
    });
    await administrationOf(namespace.connectionString).createQueue('orders');
  });
  after(async () => {
    cloudFormation.stop();
    await namespace.stop();
  });

  const sendAndReceive = async (connectionString: string) => {
    const client = new ServiceBusClient(connectionString, NO_RETRY);
    await client.createSender('orders').sendMessages({ body: 'through' });
    const receiver = client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
    assert.equal((await receiveOne(receiver)).body, 'through');
    await client.close();
  };

  /** Runs one that must not start. */
  const run = (
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Result> =>
    runProcess(['proxy', '--port', '0', ...args], {
      env: { ...awsOfTests(), AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url, ...env },
    });

  test('with the name of a stack it finds the tables, and prints a key of its own', async (t) => {
    const env = { AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url };
    const args = ['--stack', 'shop', '--region', 'local', '--port', '0'];
    const proxy = await startProxyProcess(t, args, env);
    assert.match(
      proxy.connectionString,
      /^Endpoint=sb:\/\/localhost:\d+;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=[\w-]{43};UseDevelopmentEmulator=true;$/,
    );
    await sendAndReceive(proxy.connectionString);
    const health = await fetch(`http://127.0.0.1:${proxy.port}/$health`);
    assert.equal(health.status, 200);
    proxy.child.kill('SIGTERM');
    assert.equal(await proxy.ended, 0, proxy.errors());
    const events = proxy
      .output()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      events.map(({ level, message }) => [level, message]),
      ['Started', 'Draining', 'Stopped'].map((message) => ['info', message]),
    );
    assert.equal(proxy.errors(), '');
  });

  test('with the settings of the construct and a key from variables, no key is printed', async (t) => {
    const proxy = await startProxyProcess(t, ['--port', '0'], {
      DYNABUS_DIRECT: directSettings(namespace),
      DYNABUS_PROXY_KEY: 'chosen-key-of-16',
    });
    assert.doesNotMatch(proxy.output(), /chosen-key-of-16/);
    assert.match(proxy.connectionString, /;SharedAccessKey=\$DYNABUS_PROXY_KEY;/);
    await sendAndReceive(proxy.connectionString.replace('$DYNABUS_PROXY_KEY', 'chosen-key-of-16'));
  });

  test('with a connection string it calls the namespace over HTTP', async (t) => {
    const to = ['--to', namespace.connectionString];
    const option = await startProxyProcess(t, [...to, '--port', '0']);
    assert.doesNotMatch(option.output(), /SAS_KEY_VALUE/);
    await sendAndReceive(option.connectionString);
    const variable = await startProxyProcess(t, ['--port', '0'], {
      DYNABUS_CONNECTION_STRING: namespace.connectionString,
    });
    await sendAndReceive(variable.connectionString);
  });

  test('an address that does not answer is refused in a sentence', async () => {
    const nobody = namespace.connectionString.replace(/localhost:\d+/, 'localhost:9');
    const { code, stdout, stderr } = await run(['--to', nobody]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^localhost:9 cannot be used: http:\/\/localhost:9 cannot be reached \(ECONNREFUSED\)\.\n$/,
    );
  });

  test('with a certificate, clients may use TLS, and its connection string asks them to', async (t) => {
    const { certificate, key } = makeCertificate(Date.now());
    const [cert, keyFile] = [fileOf(t, certificate), fileOf(t, key)];
    const direct = directSettings(namespace);
    const tls = ['--tls-cert', cert, '--tls-key', keyFile, '--host', '0.0.0.0'];
    const proxy = await startProxyProcess(t, ['--port', '0', '--direct', direct, ...tls]);
    assert.doesNotMatch(proxy.connectionString, /UseDevelopmentEmulator/);
    await sendAndReceive(`${proxy.connectionString}UseDevelopmentEmulator=true;`);
  });

  test('on a terminal it says how to connect, and with --quiet it prints the connection string only', async (t) => {
    const { url: endpoint } = engineOfTests();
    const settings = JSON.parse(directSettings(namespace));
    const direct = JSON.stringify({ ...settings, region: 'local', endpoint });
    const before = process.env;
    process.env = { ...before, ...awsOfTests(), AWS_ENDPOINT_URL_DYNAMODB: undefined };
    t.after(() => {
      process.env = before;
    });
    const args = ['proxy', '--direct', direct, '--port', '0'];
    const onOutput = (text: string) => {
      if (!text.includes('Endpoint=')) return;
      process.emit('SIGTERM');
      // A second signal would end this process.
      for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
    };
    const shown = await runCommand(args, { isTTY: true, onOutput });
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(
      shown.stdout,
      /^\nNamespace {10}compat-\w+, by its tables in local\nListening {10}127\.0\.0\.1:\d+, AMQP and AMQP over WebSockets\nConnection string {2}Endpoint=[^\n]+;\n\n.*\nDraining\nStopped\n$/s,
    );
    const quiet = await runCommand([...args, '--quiet'], { isTTY: true, onOutput });
    assert.match(quiet.stdout, /^Endpoint=[^\n]+;\n$/);
  });

  test('a stack that cannot be used is refused in a sentence', async () => {
    const inRegion = ['--region', 'local'];
    const missing = await run(['--stack', 'missing', ...inRegion]);
    assert.deepEqual([missing.code, missing.stdout], [1, '']);
    assert.equal(
      missing.stderr,
      'There is no stack missing in local: check --stack, --region, and the account of AWS_PROFILE.\n',
    );
    for (const stack of ['other', 'empty']) {
      const { code, stderr } = await run(['--stack', stack, ...inRegion]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^The stack \w+ in local lacks the outputs EntitiesTable, MessagesTable, Namespace and Tier: deploy it once more with this version of dynabus, [^\n]+\n$/,
      );
    }
    const elsewhere = await run(['--stack', 'shop', '--region', 'eu-west-2']);
    assert.match(elsewhere.stderr, /^AWS does not know these credentials: [^\n]+\n$/);
  });

  test('credentials that cannot be used are refused in a sentence', async () => {
    const shop = ['--stack', 'shop', '--region', 'local'];
    const none = await run(shop, NO_CREDENTIALS);
    assert.equal(none.code, 1);
    assert.match(
      none.stderr,
      /^There are no AWS credentials that can be used: [^\n]+ aws sso login, and start again\.\n$/,
    );
    const direct = ['--direct', directSettings(namespace)];
    const alsoNone = await run(direct, NO_CREDENTIALS);
    assert.deepEqual([alsoNone.code, alsoNone.stderr], [1, none.stderr]);
    const refusals = {
      ExpiredToken: /^The AWS credentials have expired: get new ones, [^\n]+\n$/,
      AccessDenied:
        /^These credentials may not use CloudFormation in local: they must allow cloudformation:DescribeStacks on the stack shop\.\n$/,
      Throttling: /^CloudFormation in local refused the stack shop: Throttling: Refused\.\n$/,
    };
    for (const [refusal, says] of Object.entries(refusals)) {
      cloudFormation.refusal = refusal;
      const { code, stderr } = await run(shop);
      cloudFormation.refusal = undefined;
      assert.equal(code, 1);
      assert.match(stderr, says);
    }
  });

  test('tables that cannot be used are refused in a sentence', async (t) => {
    const { namespace: name } = namespace.settings;
    const tables = { entitiesTable: 'nowhere', messagesTable: TABLES.messages, namespace: name };
    const missing = await run(['--direct', JSON.stringify(tables)]);
    assert.deepEqual([missing.code, missing.stdout], [1, '']);
    assert.match(
      missing.stderr,
      /^There is no table nowhere in local in the account of these credentials: [^\n]+\n$/,
    );
    const away = await run(['--direct', directSettings(namespace)], {
      AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9',
    });
    assert.equal(away.code, 1);
    assert.match(away.stderr, /^Nothing answers for table \S+ in local: [^\n]+\n$/);
    const page = createServer((_, answer) => answer.end('<html>Log in</html>')).listen(0);
    t.after(() => page.close());
    const loggedOut = await run(['--direct', directSettings(namespace)], {
      AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${(page.address() as AddressInfo).port}`,
    });
    assert.equal(loggedOut.code, 1);
    assert.match(loggedOut.stderr, /^What answers for table \S+ in local is not AWS, [^\n]+\n$/);
  });

  test('wrong input is refused with 2, before anything is asked', async (t) => {
    const direct = ['--direct', directSettings(namespace)];
    const text = fileOf(t, 'something else');
    const wrong: readonly (readonly [readonly string[], RegExp, object?])[] = [
      [[], /^No namespace is given: name its stack with --stack; /],
      [['--stack', 'shop', ...direct], /^Give one of --to, --stack and --direct\.$/],
      [['--to', 'a', ...direct], /^Give one of --to, --stack and --direct\.$/],
      [['--to', 'Endpoint=sb://a'], /^The connection string has no SharedAccessKeyName\. /],
      [['--to', 'https://a.example/path'], /^The endpoint is not the address of a deployment, /],
      [
        ['--stack', 'shop'],
        /^The region of the namespace is not known: /,
        { AWS_REGION: undefined },
      ],
      [['--stack', 'shop'], /^The region of the namespace is not known: /, { AWS_REGION: '' }],
      [['--stack', 'shop', '--region', 'a.b'], /^'a\.b' is no region: /],
      [['--direct', '{'], /^--direct is not JSON: /],
      [['--direct', '[]'], /^--direct is not a JSON object: /],
      [['--direct', '{"namespace":"a"}'], /^--direct has no entitiesTable and messagesTable: /],
      [['--direct', '{"table":"a"}'], /^--direct has the unknown field 'table': /],
      [['--direct', '{"stream":"yes"}'], /^--direct needs true or false as 'stream': /],
      [['--to', namespace.connectionString, '--stream'], /^--stream needs the tables: /],
      [['--direct', '{"namespace":1}'], /^--direct needs a text as 'namespace': /],
      [[], /^The variable DYNABUS_DIRECT is not JSON: /, { DYNABUS_DIRECT: 'x' }],
      [[...direct, '--port', '70000'], /^--port takes a number from 0 to 65535, not '70000'\.$/],
      [[...direct, '--host', '0.0.0.0'], /^Other machines can reach 0\.0\.0\.0, and without TLS /],
      [[...direct, '--host', '192.0.2.1', '--insecure-host'], /^This machine has no address 192/],
      [[...direct, '--tls-key', text], /^TLS needs both --tls-cert and --tls-key\.$/],
      [[...direct, '--tls-cert', text, '--tls-key', text], /^The files \S+ and \S+ are not a cert/],
      [
        [...direct, '--tls-cert', '/nowhere', '--tls-key', text],
        /^The file \/nowhere of --tls-cert cannot be read: there is no such file\.$/,
      ],
      [direct, /^The key SAS_KEY_VALUE is public, /, { DYNABUS_PROXY_KEY: 'SAS_KEY_VALUE' }],
      ...['a key of 16 chars; '.repeat(2), 'x'.repeat(15)].map(
        (key) =>
          [
            direct,
            /^DYNABUS_PROXY_KEY takes a random key of 16 /,
            { DYNABUS_PROXY_KEY: key },
          ] as const,
      ),
    ];
    for (const [args, says, env] of wrong) {
      const unconfigured = { AWS_CONFIG_FILE: '/nowhere', AWS_PROFILE: undefined };
      const { code, stdout, stderr } = await run(args, { ...unconfigured, ...env });
      assert.deepEqual([code, stdout], [2, ''], `${args.join(' ')}: ${stderr}`);
      assert.match(stderr.trimEnd(), says);
    }
  });

  test('a port that is taken is no wrong input', async () => {
    const { code, stderr } = await runProcess(
      ['proxy', '--direct', directSettings(namespace), '--port', String(namespace.port)],
      { env: awsOfTests() },
    );
    assert.equal(code, 1);
    assert.match(stderr, /^Port \d+ on 127\.0\.0\.1 is taken: [^\n]+ --port\.\n$/);
  });
});

function fileOf(t: TestContext, text: string): string {
  const file = join(temporaryDirectory(t), 'file.pem');
  writeFileSync(file, text);
  return file;
}
