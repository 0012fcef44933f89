import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { test } from 'node:test';
import { connect, createSecureContext } from 'node:tls';
import { makeCertificate } from '../../../server/tls/make-certificate.ts';
import { PiecewiseTlsSocket } from '../../../server/tls/tls-pieces.ts';

type Written = Parameters<Socket['_write']>;

test('output over TLS is encrypted in pieces, and arrives complete', async (t) => {
  const { certificate, key } = makeCertificate(Date.now());
  const secureContext = createSecureContext({ cert: certificate, key });
  const text = Array.from({ length: 100_000 }, (_, index) => index).join();
  const written: number[] = [];
  const write = Socket.prototype._write;
  t.mock.method(Socket.prototype, '_write', function (this: Socket, ...args: Written) {
    if (this instanceof PiecewiseTlsSocket) written.push(args[0].length);
    write.apply(this, args);
  });
  const server = createServer((outer) => {
    const socket = new PiecewiseTlsSocket(outer, { isServer: true, secureContext });
    // A text, bytes, and several writes at once.
    socket.write(text);
    socket.write(Buffer.from(text));
    for (const part of ['é', text, 'end']) socket.write(part);
    socket.end();
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  let heard = '';
  for await (const part of client.setEncoding('utf8')) heard += part;
  assert.ok(heard === `${text}${text}é${text}end`);
  assert.ok(written.length > 20 && Math.max(...written) <= 64 * 1024, `${written}`);
});
