import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { ServiceBusClient } from '@azure/service-bus';
import { ServiceBusClient as BetaClient } from 'service-bus-beta';
import { WebSocket } from 'ws';
import { obtainCertificate } from '../../../local/certificate.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { BETA, STABLE } from '../versions.ts';
import { receiveOne } from './bus-entities.ts';

/** The clients know only `wss:`; this one leaves TLS out. */
class PlainWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url.replace(/^wss:/, 'ws:'), protocols);
  }
}

/** One that does not ask who made the certificate. */
class TrustingWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url, protocols, { rejectUnauthorized: false });
  }
}

const VERSIONS = { [STABLE]: ServiceBusClient, [BETA]: BetaClient };

describe('one port for every way to connect', () => {
  let namespace: TestNamespace;
  let folder: string;
  before(async () => {
    namespace = await startNamespace();
    folder = await mkdtemp(join(tmpdir(), 'certificate-'));
    await administrationOf(namespace.connectionString).createQueue('q');
  });
  after(async () => {
    await namespace.stop();
    await rm(folder, { recursive: true });
  });

  const sendAndReceive = async (client: ServiceBusClient) => {
    await client.createSender('q').sendMessages({ body: 'through' });
    const receiver = client.createReceiver('q');
    const message = await receiveOne(receiver);
    assert.equal(message.body, 'through');
    await receiver.completeMessage(message);
    await client.close();
  };

  for (const [version, Client] of Object.entries(VERSIONS)) {
    for (const [name, webSocket] of Object.entries({ PlainWebSocket, TrustingWebSocket })) {
      test(`${version} sends and receives through a ${name}`, async () => {
        const client = new Client(namespace.connectionString, {
          webSocketOptions: { webSocket },
          retryOptions: { maxRetries: 0 },
        });
        await sendAndReceive(client as ServiceBusClient);
      });
    }
  }

  test('AMQP is spoken inside of TLS', async () => {
    const socket = connectTls({ port: namespace.port, rejectUnauthorized: false });
    socket.write(Buffer.from('AMQP\x03\x01\x00\x00', 'latin1'));
    const [first] = await new Promise<[Buffer]>((resolve) =>
      socket.once('data', (d) => resolve([d])),
    );
    assert.equal(first.subarray(0, 4).toString(), 'AMQP');
    socket.destroy();
  });

  test('HTTP is spoken inside of TLS', async () => {
    const socket = connectTls({ port: namespace.port, rejectUnauthorized: false });
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 OK[\s\S]+healthy/);
  });

  test('the address of WebSockets may end with a slash, as the .NET client has it', async () => {
    const address = `ws://localhost:${namespace.port}/$servicebus/websocket/`;
    const socket = new WebSocket(address, 'AMQPWSB10');
    socket.once('open', () => socket.send(Buffer.from('AMQP\x00\x01\x00\x00', 'latin1')));
    const [said] = await new Promise<[Buffer | Error]>((resolve) => {
      socket.once('message', (data: Buffer) => resolve([data]));
      socket.once('error', (error) => resolve([error]));
    });
    assert.ok(Buffer.isBuffer(said), String(said));
    assert.equal(said.subarray(0, 4).toString(), 'AMQP');
    socket.terminate();
  });

  test('a WebSocket to another address is not found', async () => {
    const socket = new WebSocket(`ws://localhost:${namespace.port}/elsewhere`);
    const [error] = await new Promise<[Error]>((resolve) => {
      socket.once('error', (e) => resolve([e]));
    });
    assert.match(error.message, /404/);
  });

  test('a certificate and its key are made, written to two files, and used again', () => {
    const file = join(folder, 'kept.pem');
    const keyFile = join(folder, 'kept-key.pem');
    const made = obtainCertificate(file, Date.now());
    assert.deepEqual(obtainCertificate(file, Date.now()), made);
    assert.equal(readFileSync(file, 'utf8'), made.certificate);
    assert.equal(readFileSync(keyFile, 'utf8'), made.key);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.doesNotMatch(made.certificate, /PRIVATE/);
    const certificate = new X509Certificate(made.certificate);
    assert.equal(certificate.checkHost('localhost'), 'localhost');
    assert.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1');
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(certificate.ca);
  });

  test('a file that holds certificate and key is read, and stays as it is', async () => {
    const file = join(folder, 'both.pem');
    const made = obtainCertificate(undefined, Date.now());
    await writeFile(file, made.certificate + made.key);
    assert.deepEqual(obtainCertificate(file, Date.now()), made);
    assert.equal(readFileSync(file, 'utf8'), made.certificate + made.key);
    assert.ok(!existsSync(join(folder, 'both-key.pem')));
  });

  test('a certificate whose key is missing or is the key of another is refused', async () => {
    const file = join(folder, 'alone.pem');
    await writeFile(file, obtainCertificate(undefined, Date.now()).certificate);
    const refused = /alone-key\.pem nor .*alone\.pem holds the private key/;
    assert.throws(() => obtainCertificate(file, Date.now()), refused);
    const other = obtainCertificate(undefined, Date.now()).key;
    await writeFile(join(folder, 'alone-key.pem'), other);
    assert.throws(() => obtainCertificate(file, Date.now()), refused);
  });

  test('a key that exists without a certificate is not overwritten', async () => {
    const keyFile = join(folder, 'lonely-key.pem');
    await writeFile(keyFile, 'a key');
    const file = join(folder, 'lonely.pem');
    assert.throws(
      () => obtainCertificate(file, Date.now()),
      /lonely-key\.pem cannot be written: it exists already\.$/,
    );
    assert.equal(readFileSync(keyFile, 'utf8'), 'a key');
    assert.ok(!existsSync(file));
  });

  test('a client that trusts the certificate is content with it', async () => {
    const made = obtainCertificate(undefined, Date.now());
    const other = await startNamespace({ certificate: () => made });
    const socket = connectTls({ port: other.port, ca: made.certificate, servername: 'localhost' });
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    assert.equal(socket.authorized, true);
    socket.destroy();
    await other.stop();
  });

  test('a file that holds something else is not overwritten', async () => {
    const file = join(folder, 'other.pem');
    await writeFile(file, 'something else');
    assert.throws(() => obtainCertificate(file, Date.now()), /does not hold a certificate/);
    assert.equal(readFileSync(file, 'utf8'), 'something else');
  });
});
