import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Decoder } from '../../../amqp/wire/decode.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  list,
  mapOf,
  str,
  symbol,
} from '../../../amqp/wire/value.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import {
  accepting,
  COORDINATOR,
  dataOf,
  inTransaction,
  RawSession,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** The standard's symbols for the types that clients send. */
const SYMBOLS = new Map([
  [0x10n, 'amqp:open:list'],
  [0x11n, 'amqp:begin:list'],
  [0x12n, 'amqp:attach:list'],
  [0x13n, 'amqp:flow:list'],
  [0x14n, 'amqp:transfer:list'],
  [0x15n, 'amqp:disposition:list'],
  [0x16n, 'amqp:detach:list'],
  [0x17n, 'amqp:end:list'],
  [0x18n, 'amqp:close:list'],
  [0x1dn, 'amqp:error:list'],
  [0x24n, 'amqp:accepted:list'],
  [0x25n, 'amqp:rejected:list'],
  [0x26n, 'amqp:released:list'],
  [0x27n, 'amqp:modified:list'],
  [0x28n, 'amqp:source:list'],
  [0x29n, 'amqp:target:list'],
  [0x30n, 'amqp:coordinator:list'],
  [0x31n, 'amqp:declare:list'],
  [0x32n, 'amqp:discharge:list'],
  [0x34n, 'amqp:transactional-state:list'],
  [0x41n, 'amqp:sasl-init:list'],
  [0x70n, 'amqp:header:list'],
  [0x71n, 'amqp:delivery-annotations:map'],
  [0x72n, 'amqp:message-annotations:map'],
  [0x73n, 'amqp:properties:list'],
  [0x74n, 'amqp:application-properties:map'],
  [0x75n, 'amqp:data:binary'],
  [0x76n, 'amqp:amqp-sequence:list'],
  [0x77n, 'amqp:amqp-value:*'],
  [0x78n, 'amqp:footer:map'],
]);

/** Replaces numeric descriptors by symbols on all levels of a value. */
function bySymbols(value: AmqpValue): AmqpValue {
  switch (value.type) {
    case 'list':
      return { ...value, value: value.value.map(bySymbols) };
    case 'described': {
      const { descriptor } = value;
      const name = descriptor.type === 'ulong' ? SYMBOLS.get(descriptor.value) : undefined;
      if (name === undefined) throw new Error('A type has no symbol.');
      return { ...value, descriptor: symbol(name), value: bySymbols(value.value) };
    }
    default:
      return value;
  }
}

function payloadBySymbols(payload: Uint8Array): Buffer {
  const decoder = new Decoder(payload);
  const sections: AmqpValue[] = [];
  while (!decoder.isAtEnd) sections.push(bySymbols(decoder.read()));
  return encode(...sections);
}

describe('a client that describes types by symbols', () => {
  let namespace: TestNamespace;
  let session: RawSession;
  let queue: string;
  before(async () => {
    namespace = await startNamespace();
    queue = newName('symbols');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const proof = binary(Buffer.from(`\0RootManageSharedAccessKey\0${ROOT_KEY}`));
    const raw = RawAmqp.opened(namespace.port, 'PLAIN', proof, bySymbols);
    const say = raw.say.bind(raw);
    raw.say = (performative, channel, payload) =>
      say(performative, channel, payload && payloadBySymbols(payload));
    session = new RawSession(raw);
  });
  after(async () => {
    session.raw.destroy();
    await namespace.stop();
  });

  /** Receives one message, settles it, and returns its bytes. */
  const receive = async (outcome: Parameters<RawSession['settle']>[1]) => {
    const { handle } = await session.receiver(sourceOf(queue));
    session.credit(handle, 1);
    const { payload = new Uint8Array(), deliveryId = -1 } = await session.raw.hear('transfer');
    const { state } = await session.settle(deliveryId, outcome);
    session.raw.say({ kind: 'detach', handle, closed: true });
    await session.raw.hear('detach');
    return { payload, state };
  };

  const sections = {
    header: described(0x70n, list([bool(true)])),
    deliveryAnnotations: described(0x71n, mapOf({ 'x-own': str('d') }, symbol)),
    annotations: described(0x72n, mapOf({ 'x-own': str('a') }, symbol)),
    properties: described(0x73n, list([str('id')])),
    applicationProperties: described(0x74n, mapOf({ colour: str('red') })),
  };
  const head = Object.values(sections);
  const bodies: Readonly<Record<string, readonly AmqpValue[]>> = {
    'a data section': [described(0x75n, binary(Buffer.from('x')))],
    'two sequences': [described(0x76n, list([str('x')])), described(0x76n, list([str('y')]))],
    'a value': [described(0x77n, list([str('x')]))],
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`sends ${name}, and receives the same as with numeric descriptors`, async () => {
      const sender = await session.sender(targetOf(queue));
      const footer = described(0x78n, mapOf({ 'x-sum': str('f') }, symbol));
      const bytes = encode(...head, ...body, footer);
      assert.deepEqual(await session.send(sender, bytes), { kind: 'accepted' });
      const { payload, state } = await receive({ kind: 'accepted' });
      assert.deepEqual(state, { kind: 'accepted' });
      const decoder = new Decoder(payload);
      const heard: AmqpValue[] = [];
      while (!decoder.isAtEnd) heard.push(decoder.read());
      const [application] = heard.filter((one) => one.type === 'described' && codeIs(one, 0x74n));
      assert.deepEqual(application, sections.applicationProperties);
      assert.deepEqual(heard.slice(-body.length - 1), [...body, footer]);
    });
  }

  const codeIs = (value: Extract<AmqpValue, { type: 'described' }>, code: bigint) =>
    value.descriptor.type === 'ulong' && value.descriptor.value === code;

  test('abandons, dead-letters and commits', async () => {
    const sender = await session.sender(targetOf(queue));
    const coordinator = await session.sender(COORDINATOR);
    const id = await session.declare(coordinator);
    const message = encode(described(0x75n, binary(Buffer.from('once'))));
    const state = await session.send(sender, message, { state: inTransaction(id) });
    assert.deepEqual(state, accepting(id));
    assert.deepEqual(await session.discharge(coordinator, id, false), { kind: 'accepted' });
    const abandoned = await receive({ kind: 'modified', deliveryFailed: true });
    assert.equal(abandoned.state?.kind, 'modified');
    const error = { condition: 'com.microsoft:dead-letter' };
    const { payload, state: rejected } = await receive({ kind: 'rejected', error });
    assert.deepEqual([dataOf(payload), rejected?.kind], ['once', 'rejected']);
  });
});
