import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import amqp10, { type Client, type Sender } from 'amqp10';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { connect, Inbox, url } from './amqp10-client.ts';

const { DescribedType, translator, Type } = amqp10;

type Row = readonly [name: string, given: unknown, hex: string, read: unknown];

const UUID = '00112233-4455-6677-8899-aabbccddeeff';
const NOON = new Date('2026-01-02T12:00:00Z');

/** Values, how the standard writes them, and what the client makes of them. */
const SCALARS: readonly Row[] = [
  ['null', null, '40', null],
  ['true', Type['boolean']?.(true), '41', true],
  ['false', Type['boolean']?.(false), '42', false],
  ['ubyte', Type['ubyte']?.(200), '50c8', 200],
  ['ushort', Type['ushort']?.(60_000), '60ea60', 60_000],
  ['uint 0', Type['uint']?.(0), '43', 0],
  ['uint', Type['uint']?.(70_000), '7000011170', 70_000],
  ['ulong 0', Type['ulong']?.(0), '44', 0],
  ['ulong', Type['ulong']?.(2 ** 40), '800000010000000000', 2 ** 40],
  ['byte', Type['byte']?.(-5), '51fb', -5],
  ['short', Type['short']?.(-300), '61fed4', -300],
  ['small int', Type['int']?.(5), '5405', 5],
  ['int', Type['int']?.(-70_000), '71fffeee90', -70_000],
  ['small long', Type['long']?.(-5), '55fb', -5],
  ['long', Type['long']?.(2 ** 40), '810000010000000000', 2 ** 40],
  ['float', Type['float']?.(1.5), '723fc00000', 1.5],
  ['double', Type['double']?.(1), '823ff0000000000000', 1],
  ['timestamp', Type['timestamp']?.(NOON), '830000019b7e943200', NOON],
  ['uuid', Type['uuid']?.(UUID), `98${UUID.replaceAll('-', '')}`, UUID],
  ['text', 'Grüße', 'a1074772c3bcc39f65', 'Grüße'],
  ['symbol', Type['symbol']?.('a:b'), 'a303613a62', 'a:b'],
];

/** A compound value in its wide form, which is how the server writes them. */
const wide = (code: string, count: number, items: string) => {
  const word = (value: number) => value.toString(16).padStart(8, '0');
  return `${code}${word(items.length / 2 + 4)}${word(count)}${items}`;
};

const LIST = [true, 'a'];
const LIST_HEX = wide('d0', 2, '41a10161');
const FIVE = Type['int']?.(5);

const COMPOUNDS: readonly Row[] = [
  ['binary', Type['binary']?.(Buffer.from([0, 255])), 'a00200ff', Buffer.from([0, 255])],
  ['long text', 'x'.repeat(300), `b10000012c${'78'.repeat(300)}`, 'x'.repeat(300)],
  ['empty list', Type['list']?.([]), '45', []],
  ['list', Type['list']?.(LIST), LIST_HEX, LIST],
  ['list in a list', Type['list']?.([LIST, true]), wide('d0', 2, `${LIST_HEX}41`), [LIST, true]],
  ['map', Type['map']?.({ a: FIVE }), wide('d1', 2, 'a101615405'), { a: 5 }],
  ['array', translator(['array', 'int', 1, 2]), wide('f0', 2, '710000000100000002'), [1, 2]],
  ['described', new DescribedType('a:b', FIVE), '00a303613a625405', new DescribedType('a:b', 5)],
];

describe('values through amqp10', () => {
  let namespace: TestNamespace;
  let client: Client;
  let sender: Sender;
  let inbox: Inbox;
  before(async () => {
    namespace = await startNamespace();
    const name = newName('queue');
    await administrationOf(namespace.connectionString).createQueue(name);
    client = await connect(url(namespace.port));
    sender = await client.createSender(name);
    inbox = await Inbox.open(client, name, { sndSettleMode: 1, rcvSettleMode: 0 });
  });
  after(async () => {
    await client.disconnect();
    await namespace.stop();
  });

  /** What comes back: read by the client, and the bytes of the whole message. */
  const through = async (message: unknown) => {
    await sender.send(message);
    const { message: read, frame } = await inbox.next();
    return { read, hex: Buffer.from(frame.payload.slice()).toString('hex') };
  };

  // This client cannot send a null as a body: it makes an empty list of it.
  for (const [name, given, hex, expected] of [...SCALARS.slice(1), ...COMPOUNDS]) {
    test(`a body that is one value keeps its type: ${name}`, async () => {
      const { read, hex: bytes } = await through({ body: new DescribedType(0x77, given) });
      assert.deepEqual(read.body, expected);
      assert.ok(bytes.endsWith(`005377${hex}`), bytes);
    });
  }

  for (const [name, given, hex, expected] of SCALARS) {
    test(`a property of the application keeps its type: ${name}`, async () => {
      const { read, hex: bytes } = await through({
        applicationProperties: { key: given },
        body: 'b',
      });
      assert.deepEqual(read.applicationProperties?.['key'], expected);
      assert.ok(bytes.includes(`a1036b6579${hex}005377a10162`), bytes);
    });
  }

  test('bodies of data and of a sequence come back as such', async () => {
    const data = await through(Buffer.from('raw'));
    assert.ok(data.hex.endsWith('005375a003726177'), data.hex);
    assert.deepEqual(data.read.body, Buffer.from('raw'));
    const sequence = await through([1, 'a']);
    assert.ok(sequence.hex.endsWith(`005376${wide('d0', 2, '5201a10161')}`), sequence.hex);
    assert.deepEqual(sequence.read.body, [1, 'a']);
  });

  test('message ids of all four kinds come back as they are', async () => {
    const ids: readonly unknown[] = [
      'text',
      Type['ulong']?.(7),
      Type['uuid']?.(UUID),
      Type['binary']?.(Buffer.from('id')),
    ];
    const seen: unknown[] = [];
    for (const messageId of ids) {
      const { read } = await through({
        properties: { messageId, correlationId: messageId },
        body: 'b',
      });
      seen.push([read.properties?.['messageId'], read.properties?.['correlationId']]);
    }
    const expected = ['text', 7, UUID, Buffer.from('id')];
    assert.deepEqual(
      seen,
      expected.map((id) => [id, id]),
    );
  });

  test('a message larger than a frame travels in several, both ways', async () => {
    const body = randomBytes(200_000);
    const { read } = await through(body);
    assert.deepEqual(read.body, body);
  });

  test('a client with small frames gets small frames', async () => {
    const name = newName('queue');
    await administrationOf(namespace.connectionString).createQueue(name);
    const options = { connect: { options: { maxFrameSize: 4096 } } };
    const other = await connect(url(namespace.port), options);
    const body = randomBytes(100_000);
    await (await other.createSender(name)).send(body);
    const { message } = await (await Inbox.open(other, name)).next();
    assert.deepEqual(message.body, body);
    await other.disconnect();
  });

  test('a message that is too large is refused by name, and the link goes on', async () => {
    await assert.rejects(async () => await sender.send(randomBytes(300_000)), {
      condition: 'amqp:link:message-size-exceeded',
    });
    assert.equal((await through('small')).read.body, 'small');
  });
});
