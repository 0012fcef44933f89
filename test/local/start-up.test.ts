import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { engineAddress } from '../../local/engine/engine-address.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { curlLines, paste, startCli, startNamespaceCli, temporaryDirectory } from './cli.ts';

test('the start prints each step, and then command lines that work when pasted', async (t) => {
  const cli = await startNamespaceCli(t);
  const { port } = new URL(cli.url);

  assert.match(cli.output(), /\d\.\d\d s {2}Engine answers: /);
  assert.match(cli.output(), /\d\.\d\d s {2}Listening on http:\/\/localhost:\d+\n/);
  assert.ok(
    cli
      .output()
      .includes(
        `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;`,
      ),
  );
  const [create, send, receive, ...more] = curlLines(cli.output());
  assert.ok(create && send && receive && more.length === 0, cli.output());
  assert.match(paste(create), /\n201$/);
  assert.match(paste(send), /\n201$/);
  assert.equal(paste(receive), 'Hello, bus\n200');
});

test('the fallback engine runs a namespace as well', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });

  assert.match(cli.output(), /Engine +dynoxide, in memory/);
  const [create, send, receive] = curlLines(cli.output());
  assert.ok(create && send && receive, cli.output());
  assert.match(paste(create), /\n201$/);
  assert.match(paste(send), /\n201$/);
  assert.equal(paste(receive), 'Hello, bus\n200');
});

test('without Java the server uses the fallback engine and names it', async (t) => {
  const cli = await startNamespaceCli(t, { env: withoutJava() });
  assert.match(cli.output(), /Engine +dynoxide, in memory/);
});

test('--certificate tells where the certificate is and how a client trusts it', async (t) => {
  const file = join(temporaryDirectory(t), 'cert.pem');
  const args = ['--engine', 'dynoxide', '--certificate', file];
  const { url, output } = await startNamespaceCli(t, { args });

  const line = /^export NODE_EXTRA_CA_CERTS=.*$/m.exec(output())?.[0];
  assert.ok(line !== undefined && output().includes(`\nCertificate        ${file}\n`), output());
  const https = url.replace('http:', 'https:');
  const ask = `node -p "fetch('${https}/health').then((r) => console.log(r.status)), ''"`;
  assert.match(execFileSync('sh', ['-c', `${line}\n${ask}`], { encoding: 'utf8' }), /200/);
});

test('--quiet prints the endpoint and nothing else', async (t) => {
  const cli = startCli(t, { args: ['--quiet', '--port', '0', '--engine', 'dynoxide'] });
  await cli.untilPrinted('\n');
  assert.match(cli.output(), /^http:\/\/localhost:\d+\n$/);
});

test('--ready-file says how to reach the namespace while it runs, to its user only', async (t) => {
  const file = join(temporaryDirectory(t), 'ready.json');
  writeFileSync(file, 'of a server that was killed');
  const args = [
    '--port',
    '0',
    '--engine',
    'dynoxide',
    '--json',
    '--key',
    'k',
    '--ready-file',
    file,
  ];
  const cli = startCli(t, { args });
  await cli.untilPrinted('\n');
  const ready = JSON.parse(readFileSync(file, 'utf8'));
  assert.deepEqual(ready, JSON.parse(cli.output()));
  const { url, connectionString, adminConnectionString, pid } = ready;
  const { host } = new URL(url);
  assert.equal(
    connectionString,
    `Endpoint=sb://${host};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=k;UseDevelopmentEmulator=true;`,
  );
  assert.equal(adminConnectionString, connectionString);
  assert.equal(pid, cli.child.pid);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  cli.child.kill('SIGTERM');
  assert.equal(await cli.ended, 0);
  assert.equal(existsSync(file), false);
});

test('a taken port gives one sentence and exit code 1', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.after(() => holder.close());
  const address = holder.address();
  assert.ok(address !== null && typeof address !== 'string');

  const cli = startCli(t, { args: ['--port', String(address.port)] });

  assert.equal(await cli.ended, 1);
  assert.equal(
    cli.errors(),
    `Port ${address.port} on 127.0.0.1 is taken: stop what listens there, or choose another with --port.\n`,
  );
});

test('an unknown option gives a sentence and exit code 2', async (t) => {
  const cli = startCli(t, { args: ['--prot', '5300'] });
  assert.equal(await cli.ended, 2);
  assert.equal(
    cli.errors(),
    "Unknown option '--prot'. Did you mean --port? See dynabus start --help.\n",
  );
});

test('--help prints the usage and exits with 0', async (t) => {
  const cli = startCli(t, { args: ['--help'] });
  assert.equal(await cli.ended, 0);
  assert.match(cli.output(), /^Usage: dynabus start/);
});

for (const port of ['http', '65536', '-1', '1.5', '']) {
  test(`the port '${port}' is refused`, async (t) => {
    const cli = startCli(t, { args: [`--port=${port}`] });
    assert.equal(await cli.ended, 2);
    assert.equal(cli.errors(), `The port must be a number from 0 to 65535, not '${port}'.\n`);
  });
}

test('an unknown engine is refused', async (t) => {
  const cli = startCli(t, { args: ['--port', '0', '--engine', 'oracle'] });
  assert.equal(await cli.ended, 2);
  assert.equal(
    cli.errors(),
    "There is no engine 'oracle'; there are dynamodb-local and dynoxide.\n",
  );
});

test('an unknown tier is refused', async (t) => {
  const cli = startCli(t, { args: ['--tier', 'gold'] });
  assert.equal(await cli.ended, 2);
  assert.equal(cli.errors(), "There is no tier 'gold'; there are standard, basic and premium.\n");
});

test('--tier chooses the tier of the namespace', async (t) => {
  const { url } = await startNamespaceCli(t, { args: ['--tier', 'basic', '--engine', 'dynoxide'] });
  const authorization = createSasToken({
    audience: url,
    keyName: 'RootManageSharedAccessKey',
    key: 'SAS_KEY_VALUE',
    expiresAt: Date.now() + 60_000,
  });
  const answer = await fetch(`${url}/$namespaceinfo`, { headers: { authorization } });
  assert.match(await answer.text(), /<MessagingSKU>Basic<\/MessagingSKU>/);
});

test('a data directory that cannot be written to is refused', async (t) => {
  const file = join(temporaryDirectory(t), 'file');
  writeFileSync(file, '');
  // A path below a file fails even for root, which permissions do not stop.
  const directory = join(file, 'data');

  const cli = startCli(t, { args: ['--port', '0', '--data', directory] });

  assert.equal(await cli.ended, 2);
  assert.equal(
    cli.errors(),
    `The data directory ${directory} cannot be used: a part of its path is not a directory.\n`,
  );
});

test('without Java, a start with DynamoDB Local fails with a remedy', async (t) => {
  const env = { ...withoutJava(), DYNABUS_ENGINE: 'dynamodb-local' };
  const cli = startCli(t, { args: ['--port', '0'], env });
  assert.equal(await cli.ended, 1);
  assert.match(
    cli.errors(),
    /^No engine can run here: DynamoDB Local needs Java 17 or newer, and there is no working Java on the PATH\. Install .+\n$/,
  );
});

test('the error for a Java that is too old names its version', async (t) => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'bin'));
  writeFileSync(
    join(directory, 'bin', 'java'),
    `#!/bin/sh\necho 'openjdk version "1.8.0_292"' >&2\n`,
    { mode: 0o755 },
  );
  const env = { JAVA_HOME: directory, DYNABUS_ENGINE: 'dynamodb-local' };
  const cli = startCli(t, { args: ['--port', '0'], env });
  assert.equal(await cli.ended, 1);
  assert.match(cli.errors(), /the Java in JAVA_HOME \(.+\) is version 8\./);
});

test('with DYNAMODB_ENDPOINT the server uses that engine and starts none', async (t) => {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint === undefined) return t.skip('no engine: start through test/run.ts');
  const cli = await startNamespaceCli(t, { env: { DYNAMODB_ENDPOINT: endpoint } });
  assert.ok(cli.output().includes(`the one at ${engineAddress(endpoint).url}`));
});

/** An environment in which no Java can be found. */
function withoutJava(): Record<string, string | undefined> {
  return { PATH: '/nonexistent', JAVA_HOME: undefined };
}
