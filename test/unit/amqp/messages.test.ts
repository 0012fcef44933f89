import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDelivery, readMessages } from '../../../amqp/messages/read-message.ts';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { writeMessage } from '../../../amqp/messages/write-message.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  fieldsOf,
  list,
  long,
  type MapEntry,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
  uint,
  ulong,
  uuid,
} from '../../../amqp/wire/value.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';

const GUID = Uint8Array.from({ length: 16 }, (_, i) => i);

function readMessage(bytes: Uint8Array): OutgoingMessage {
  const [message] = readDelivery(bytes, 0);
  assert.ok(message);
  return message;
}

/** The decoded sections of the message as a receiver gets it. */
function comeBack(bytes: Uint8Array, change: Partial<OutgoingMessage> = {}, failedDeliveries = 0) {
  const message = readMessage(bytes);
  const stored = {
    message: { ...message, messageId: message.messageId ?? 'given', ...change },
    sequenceNumber: 5n,
    enqueuedAt: 1_700_000_000_000,
    failedDeliveries,
    state: 'Active',
  } as const;
  return readSections(writeMessage(stored));
}

const hex = (value: AmqpValue | undefined) =>
  value === undefined ? '' : encode(value).toString('hex');

const BODIES: Readonly<Record<string, { sections: readonly AmqpValue[]; shown: string }>> = {
  'one data section': {
    sections: [described(SECTION.data, binary(Buffer.from('bytes')))],
    shown: 'bytes',
  },
  'two data sections': {
    sections: [
      described(SECTION.data, binary(Buffer.from('by'))),
      described(SECTION.data, binary(Buffer.from('tes'))),
    ],
    shown: 'bytes',
  },
  'a text': { sections: [described(SECTION.value, str('größer'))], shown: 'größer' },
  'bytes as a value': {
    sections: [described(SECTION.value, binary(Buffer.from('raw')))],
    shown: 'raw',
  },
  'a null': { sections: [described(SECTION.value, NULL)], shown: 'null' },
  'a long': { sections: [described(SECTION.value, long(2n ** 62n))], shown: '4611686018427387904' },
  'a map with typed values': {
    sections: [
      described(
        SECTION.value,
        mapOf({ n: uint(1), s: symbol('sym'), d: { type: 'double', value: 1 } }),
      ),
    ],
    shown: '{"n":1,"s":"sym","d":1}',
  },
  'a list in one sequence': {
    sections: [described(SECTION.sequence, list([str('a'), ulong(7n)]))],
    shown: '["a",7]',
  },
  'two sequences': {
    sections: [
      described(SECTION.sequence, list([uint(1)])),
      described(SECTION.sequence, list([uint(2)])),
    ],
    shown: '[[1],[2]]',
  },
  'no body': { sections: [], shown: '' },
  'a described value': {
    sections: [described(SECTION.value, described(0x4711n, list([timestamp(0)])))],
    shown: '["1970-01-01T00:00:00.000Z"]',
  },
};

for (const [name, { sections, shown }] of Object.entries(BODIES)) {
  test(`a body that is ${name} is returned unchanged, and is readable over other protocols`, () => {
    const bytes = writeSections({ body: sections });
    assert.equal(Buffer.from(readMessage(bytes).body).toString('utf8'), shown);
    assert.equal(
      encode(...comeBack(bytes).body).toString('hex'),
      encode(...sections).toString('hex'),
    );
  });
}

test('a body that other protocols can express has no AMQP-only form', () => {
  const bytes = writeSections({ body: [described(SECTION.data, binary(Buffer.from('plain')))] });
  assert.equal(readMessage(bytes).amqp, undefined);
});

test('application properties of every type are returned unchanged', () => {
  const properties = mapOf({
    null: NULL,
    boolean: { type: 'boolean', value: true },
    ubyte: { type: 'ubyte', value: 200 },
    byte: { type: 'byte', value: -5 },
    ushort: { type: 'ushort', value: 60_000 },
    short: { type: 'short', value: -3 },
    uint: uint(1),
    int: { type: 'int', value: 1 },
    ulong: ulong(2n ** 63n),
    long: long(-1n),
    float: { type: 'float', value: 1 },
    double: { type: 'double', value: 1 },
    char: { type: 'char', value: 0x1f680 },
    timestamp: timestamp(1_700_000_000_123),
    uuid: uuid(GUID),
    binary: binary(GUID),
    string: str('text'),
    symbol: symbol('sym'),
    decimal128: { type: 'decimal128', value: GUID },
    decimal64: { type: 'decimal64', value: GUID.subarray(0, 8) },
    list: list([uint(1), str('two')]),
    span: { type: 'described', descriptor: symbol('com.microsoft:timespan'), value: long(17n) },
    uri: { type: 'described', descriptor: symbol('com.microsoft:uri'), value: str('a:b') },
    offset: {
      type: 'described',
      descriptor: symbol('com.microsoft:datetime-offset'),
      value: long(621_355_968_000_000_000n),
    },
  });
  const bytes = writeSections({ applicationProperties: properties, body: [] });
  const back = comeBack(bytes).applicationProperties;
  const entries = (map: AmqpValue | undefined) =>
    map?.type === 'map' ? map.value.map(([key, value]) => hex(key) + hex(value)).sort() : [];
  assert.deepEqual(entries(back), entries(properties));
});

test('a property set later replaces an AMQP-only one', () => {
  const bytes = writeSections({
    applicationProperties: mapOf({ colour: symbol('red') }),
    body: [],
  });
  const back = comeBack(bytes, { properties: { colour: { type: 'string', value: 'blue' } } });
  assert.equal(hex(back.applicationProperties), hex(mapOf({ colour: str('blue') })));
});

test('ids of other types than text are shown as text, and returned in their type', () => {
  for (const [id, text] of [
    [uuid(GUID), '00010203-0405-0607-0809-0a0b0c0d0e0f'],
    [ulong(17n), '17'],
    [str('plain'), 'plain'],
  ] as const) {
    const bytes = writeSections({ properties: list([id, NULL, NULL, NULL, NULL, id]), body: [] });
    const { messageId, correlationId } = readMessage(bytes);
    assert.deepEqual([messageId, correlationId], [text, text]);
    const { properties } = comeBack(bytes);
    const fields =
      properties?.type === 'described' && properties.value.type === 'list'
        ? properties.value.value
        : [];
    assert.deepEqual([hex(fields[0]), hex(fields[5])], [hex(id), hex(id)]);
  }
});

test('annotations that a sender may not set are dropped, others are kept', () => {
  const annotations = mapOf(
    { 'x-opt-sequence-number': long(99n), 'x-opt-partition-key': str('key'), mine: uint(3) },
    symbol,
  );
  const bytes = writeSections({ annotations, body: [] });
  assert.equal(readMessage(bytes).partitionKey, 'key');
  const back = comeBack(bytes).annotations;
  const found =
    back?.type === 'map' ? back.value.map(([key, value]) => [hex(key), hex(value)]) : [];
  assert.deepEqual(
    found.filter(([key]) => key === hex(symbol('x-opt-sequence-number'))),
    [[hex(symbol('x-opt-sequence-number')), hex(long(5n))]],
  );
  assert.deepEqual(
    found.filter(([key]) => key === hex(symbol('mine'))),
    [[hex(symbol('mine')), hex(uint(3))]],
  );
});

test("the Go client's delivery annotations are returned, except the lock token", () => {
  const own: readonly MapEntry[] = [[symbol('x-opt-delivery-annotation-test'), str('value')]];
  const lock: MapEntry = [symbol('x-opt-lock-token'), str('forged')];
  const sections = {
    deliveryAnnotations: { type: 'map', value: [...own, lock] },
    body: [described(SECTION.value, str('m'))],
  } as const;
  const { deliveryAnnotations } = comeBack(writeSections(sections));
  assert.deepEqual(deliveryAnnotations, { type: 'map', value: own });
});

test('a partition key that a client sends as a binary is read as text', () => {
  const annotations = mapOf(
    {
      'x-opt-partition-key': binary(Buffer.from('clé')),
      'x-opt-via-partition-key': binary(Buffer.from('via')),
    },
    symbol,
  );
  const bytes = writeSections({ annotations, body: [described(SECTION.value, str('m'))] });
  const { partitionKey, viaPartitionKey } = readMessage(bytes);
  assert.deepEqual([partitionKey, viaPartitionKey], ['clé', 'via']);
});

for (const [keys, expected] of [
  [{ sessionId: 's' }, 's'],
  [{ sessionId: '', partitionKey: 'p' }, 'p'],
  [{ sessionId: '' }, undefined],
  [{}, undefined],
] as const) {
  test(`a message sent with ${JSON.stringify(keys)} shows the partition key ${expected}`, () => {
    const bytes = writeSections({ body: [described(SECTION.value, str('m'))] });
    const { annotations } = comeBack(bytes, keys);
    const shown = fieldsOf(annotations).get('x-opt-partition-key');
    assert.deepEqual(shown, expected === undefined ? undefined : str(expected));
  });
}

test('first-acquirer is returned as sent, unless the message was delivered before', () => {
  const header = (value: AmqpValue) => list([NULL, NULL, NULL, value]);
  for (const [sent, failedDeliveries, told] of [
    [bool(true), 0, bool(true)],
    [bool(false), 0, bool(false)],
    [bool(true), 1, bool(false)],
    [NULL, 1, NULL],
  ] as const) {
    const bytes = writeSections({ header: header(sent), body: [] });
    const back = comeBack(bytes, {}, failedDeliveries).header;
    const fields = back?.type === 'described' && back.value.type === 'list' ? back.value.value : [];
    assert.deepEqual([hex(fields[3]), hex(fields[4])], [hex(told), hex(uint(failedDeliveries))]);
  }
});

test('a time to live beyond 32 bits is read from creation and expiry time', () => {
  const fields = [
    ...Array.from({ length: 8 }, () => NULL),
    timestamp(8_000_000_000_000),
    timestamp(1_000_000_000_000),
  ];
  const header = list([NULL, NULL, uint(0xffff_ffff)]);
  const bytes = writeSections({ header, properties: list(fields), body: [] });
  assert.equal(readMessage(bytes).timeToLiveMs, 7_000_000_000_000);
});

test('a batch consists of the messages in its data sections', () => {
  const inner = ['a', 'b'].map((text) =>
    binary(writeSections({ body: [described(SECTION.data, binary(Buffer.from(text)))] })),
  );
  const bytes = writeSections({ body: inner.map((value) => described(SECTION.data, value)) });
  assert.deepEqual(
    readDelivery(bytes, 0x80013700).map(({ body }) => Buffer.from(body).toString()),
    ['a', 'b'],
  );
});

test('invalid messages are refused with their mistake', () => {
  for (const bytes of [Buffer.from('nonsense'), encode(uint(1)), encode(described(0x99n, NULL))]) {
    assert.throws(
      () => readMessage(bytes),
      (error) => error instanceof BrokerError && error.code === 'ArgumentError',
    );
  }
  assert.throws(
    () => readDelivery(writeSections({ body: [described(SECTION.value, NULL)] }), 0x80013700),
    BrokerError,
  );
});

test('a batch of too many messages is refused before any of them is decoded', () => {
  const noMessage = described(SECTION.data, binary(Buffer.of(0xff)));
  const body = Array.from({ length: LIMITS.batchMessages + 1 }, () => noMessage);
  assert.throws(() => readDelivery(writeSections({ body }), 0x80013700), {
    code: 'MessageSizeExceeded',
  });
});

test('too many messages to be scheduled are refused before any of them is decoded', async () => {
  const encoded = Array.from({ length: LIMITS.batchMessages + 1 }, () => Buffer.of(0xff));
  await assert.rejects(readMessages(encoded), { code: 'MessageSizeExceeded' });
});
