import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  type MessageAttribute,
  md5OfMessageAttributes,
} from '../../../lambdas/push/event/message-attributes.ts';

const lists = { stringListValues: [], binaryListValues: [] };

const text = (stringValue: string, dataType = 'String'): MessageAttribute => ({
  stringValue,
  ...lists,
  dataType,
});

/** Digests that SQS made. */
const OF_SQS: readonly [string, Readonly<Record<string, MessageAttribute>>][] = [
  ['235c5c510d26fb653d073faed50ae77c', { timestamp: text('1493147359900', 'Number') }],
  [
    '36655e7e9d7c0e8479fa3f3f42247ae7',
    { 'SOME_Valid.attribute-Name': text('1493147359900', 'Number') },
  ],
  [
    '2e2e4876d8e0bd6b8c2c8f556831c349',
    { timestamp: text('1493147359900', 'Number.java.lang.Long') },
  ],
  ['1e4b169c724503f3886d943e5bbe88e5', { someattr: text('someval') }],
];

test('the digest of message attributes is that of SQS', () => {
  for (const [digest, attributes] of OF_SQS) {
    assert.equal(md5OfMessageAttributes(attributes), digest);
  }
});

test('attributes are digested in order of their names, bytes as they are', () => {
  const bytes = { binaryValue: 'AQI=', ...lists, dataType: 'Binary' };
  const digest = md5OfMessageAttributes({ b: bytes, a: text('é') });
  const parts = [
    [0, 0, 0, 1, ...Buffer.from('a'), 0, 0, 0, 6, ...Buffer.from('String'), 1],
    [0, 0, 0, 2, ...Buffer.from('é')],
    [0, 0, 0, 1, ...Buffer.from('b'), 0, 0, 0, 6, ...Buffer.from('Binary'), 2],
    [0, 0, 0, 2, 1, 2],
  ];
  const expected = createHash('md5').update(Uint8Array.from(parts.flat())).digest('hex');
  assert.equal(digest, expected);
});
