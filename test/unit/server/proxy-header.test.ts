import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readProxyHeader } from '../../../server/proxy-header.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { localHeader, proxyHeader, proxyHeaderOf } from '../../support/proxy-header.ts';

const MAX = BUDGETS.address.proxyHeaderBytes;
const VERSION6 = '20010db8000100020000000000000007';
const MAPPED = '00000000000000000000ffffc0000207';

function version6(source: string): Buffer {
  return proxyHeaderOf(0x21, 0x21, Buffer.from(`${source}${VERSION6}c3501628`, 'hex'));
}

test('a header has the address of the client, in either version of IP', () => {
  const header = proxyHeader('192.0.2.7');
  const whole = { kind: 'whole', bytes: header.byteLength };
  assert.deepEqual(readProxyHeader(header), { ...whole, client: '192.0.2.7' });
  assert.deepEqual(readProxyHeader(Buffer.concat([header, Buffer.from('AMQP')])), {
    ...whole,
    client: '192.0.2.7',
  });
  const six = { kind: 'whole', bytes: 52 };
  assert.deepEqual(readProxyHeader(version6(VERSION6)), { ...six, client: '2001:db8:1:2:0:0:0:7' });
  assert.deepEqual(readProxyHeader(version6(MAPPED)), { ...six, client: '192.0.2.7' });
});

test('the fields that the load balancer adds after the addresses are ignored', () => {
  const header = proxyHeader('192.0.2.7', Buffer.alloc(72));
  const whole = { kind: 'whole', bytes: header.byteLength, client: '192.0.2.7' };
  assert.deepEqual(readProxyHeader(header), whole);
});

test('a header without addresses, as in health checks of the load balancer, has no client', () => {
  assert.deepEqual(readProxyHeader(localHeader()), { kind: 'whole', bytes: 16 });
  const withAddresses = proxyHeaderOf(0x20, 0x11, Buffer.alloc(12));
  assert.deepEqual(readProxyHeader(withAddresses), { kind: 'whole', bytes: 28 });
  const unspecified = proxyHeaderOf(0x21, 0x00, new Uint8Array());
  assert.deepEqual(readProxyHeader(unspecified), { kind: 'whole', bytes: 16 });
});

test('other bytes are no header, or a malformed one', () => {
  const wrong: readonly (readonly [string, Buffer, string])[] = [
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'absent'],
    ['AMQP', Buffer.from('AMQP\0\x01\0\0'), 'absent'],
    ['version 1', Buffer.from('PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n'), 'absent'],
    ['empty lines', Buffer.from('\r\n\r\nGET /'), 'absent'],
    ['an unknown version', proxyHeaderOf(0x11, 0x11, Buffer.alloc(12)), 'malformed'],
    ['an unknown command', proxyHeaderOf(0x22, 0x11, Buffer.alloc(12)), 'malformed'],
    ['datagrams', proxyHeaderOf(0x21, 0x12, Buffer.alloc(12)), 'malformed'],
    ['a path of Unix', proxyHeaderOf(0x21, 0x31, Buffer.alloc(216)), 'malformed'],
    ['addresses cut off', proxyHeaderOf(0x21, 0x11, Buffer.alloc(11)), 'malformed'],
    ['long addresses cut off', proxyHeaderOf(0x21, 0x21, Buffer.alloc(35)), 'malformed'],
    ['too much', proxyHeaderOf(0x21, 0x11, Buffer.alloc(MAX - 15)), 'malformed'],
  ];
  for (const [name, bytes, kind] of wrong) assert.equal(readProxyHeader(bytes).kind, kind, name);
  assert.equal(readProxyHeader(proxyHeaderOf(0x21, 0x11, Buffer.alloc(MAX - 16))).kind, 'whole');
});

test('a header may arrive byte by byte, and too large a length is refused before its bytes arrive', () => {
  const header = proxyHeader('192.0.2.7', Buffer.alloc(72));
  for (let length = 0; length < header.byteLength; length++) {
    assert.equal(readProxyHeader(header.subarray(0, length)).kind, 'incomplete');
  }
  const claimed = proxyHeaderOf(0x21, 0x11, Buffer.alloc(65_535)).subarray(0, 16);
  assert.equal(readProxyHeader(claimed).kind, 'malformed');
});

test('no input makes the reader wait for more bytes than the longest header has', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 2 * MAX }).map((any) => Buffer.from(any)),
    fc
      .tuple(fc.nat(255), fc.nat(255), fc.uint8Array({ maxLength: 2 * MAX }))
      .map(([command, family, rest]) => proxyHeaderOf(command, family, rest)),
  );
  fc.assert(
    fc.property(bytes, fc.nat(2 * MAX), (all, cut) => {
      const come = all.subarray(0, cut);
      const read = readProxyHeader(come);
      if (read.kind === 'incomplete') assert.ok(come.byteLength < MAX);
      if (read.kind === 'whole') assert.ok(read.bytes <= come.byteLength);
    }),
  );
});
