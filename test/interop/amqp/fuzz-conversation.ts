import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../../amqp/wire/performatives.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  list,
  mapOf,
  NULL,
  str,
  symbol,
  uint,
} from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { anyMessage, anyRequest, anyState } from './fuzz-messages.ts';
import { anyValue, orAny } from './fuzz-values.ts';

const ADDRESSES = [
  'q',
  's',
  't',
  't/Subscriptions/x',
  'q/$DeadLetterQueue',
  'q/$management',
  's/$management',
  't/Subscriptions/x/$management',
  '$cbs',
  'nowhere',
] as const;
const OPERATIONS = [
  'renew-lock',
  'update-disposition',
  'receive-by-sequence-number',
  'peek-message',
  'batch-delete-messages',
  'schedule-message',
  'cancel-scheduled-message',
  'renew-session-lock',
  'get-session-state',
  'set-session-state',
  'get-message-sessions',
  'enumerate-rules',
  'add-rule',
  'remove-rule',
  'put-token',
] as const;
const BATCH_FORMAT = 0x8001_3700;

export interface Keys {
  readonly user: string;
  readonly password: string;
  readonly token: string;
}

/** The frames of a client on one connection, most of them in a valid order. */
export function conversation(random: LoadRandom, keys: Keys): Buffer[] {
  return new Conversation(random, keys).frames();
}

class Conversation {
  readonly #random: LoadRandom;
  readonly #keys: Keys;
  readonly #frames: Buffer[] = [];
  #handles = 0;
  #deliveries = 0;

  constructor(random: LoadRandom, keys: Keys) {
    this.#random = random;
    this.#keys = keys;
  }

  frames(): Buffer[] {
    const random = this.#random;
    if (random.chance(0.8)) this.#authenticate();
    this.#frames.push(protocolHeader('amqp'));
    this.#say({
      kind: 'open',
      containerId: 'fuzz',
      hostname: 'localhost',
      ...(random.chance(0.3)
        ? { maxFrameSize: random.pick([512, 513, 65_536, 4_294_967_295]) }
        : {}),
      ...(random.chance(0.3) ? { idleTimeOutMs: random.pick([0, 1, 60_000]) } : {}),
    });
    const windows = { nextOutgoingId: random.pick([0, 1, 4_294_967_295]), outgoingWindow: 100 };
    this.#say({ kind: 'begin', incomingWindow: random.pick([0, 1, 100, 2048]), ...windows });
    for (let i = random.between(1, 12); i > 0; i--) this.#act();
    if (random.chance(0.3)) this.#say({ kind: 'end' });
    if (random.chance(0.3)) this.#say({ kind: 'close' });
    return this.#frames;
  }

  #act(): void {
    const random = this.#random;
    const handle = random.below(Math.max(1, this.#handles));
    const id = () => random.pick([0, 1, this.#deliveries, 4_294_967_295]);
    random.pick([
      () => this.#request(random.pick(ADDRESSES)),
      () => this.#request('q/$management'),
      () => this.#sender(),
      () => this.#sender(),
      () => this.#receiver(random.pick(ADDRESSES)),
      () => this.#receiver(random.pick(['q', 's', 't/Subscriptions/x'])),
      () => this.#coordinator(),
      () => this.#flow(random.chance(0.2) ? undefined : handle),
      () =>
        this.#say({
          kind: 'disposition',
          role: random.chance(0.9) ? 'receiver' : 'sender',
          first: id(),
          ...(random.chance(0.5) ? { last: id() } : {}),
          settled: random.chance(0.5),
          ...(random.chance(0.9) ? { state: anyState(this.#random) } : {}),
        }),
      () => this.#say({ kind: 'detach', handle, closed: random.chance(0.9) }),
      () =>
        this.#say({ kind: 'begin', nextOutgoingId: 0, incomingWindow: 9, outgoingWindow: 9 }, 1),
    ])();
  }

  #authenticate(): void {
    const { user, password } = this.#keys;
    const [mechanism, response] = this.#random.pick([
      ['PLAIN', `\0${user}\0${password}`],
      ['PLAIN', `\0${user}\0${password}`],
      ['ANONYMOUS', 'anyone'],
      ['MSSBCBS', ''],
      ['PLAIN', `\0${user}\0wrong`],
    ]);
    const init = list([symbol(mechanism), binary(Buffer.from(response))]);
    this.#frames.push(protocolHeader('sasl'), encodeFrame('sasl', 0, described(0x41n, init)));
  }

  #say(performative: Performative, channel = 0, payload?: Uint8Array): void {
    let value = writePerformative(performative);
    if (value.type === 'described' && value.value.type === 'list') {
      const fields = value.value.value.map((field) => orAny(this.#random, field, 0.02));
      value = { ...value, value: list(fields) };
    }
    this.#frames.push(encodeFrame('amqp', channel, value, payload));
  }

  #attach(role: 'sender' | 'receiver', address: string, target?: AmqpValue): number {
    const random = this.#random;
    const handle = this.#handles++;
    const filter = mapOf(
      {
        'com.microsoft:session-filter': orAny(random, random.pick([NULL, str('a'), str('b')]), 0.2),
      },
      symbol,
    );
    const nothing = Array.from({ length: 6 }, () => orAny(random, NULL, 0.02));
    const isSession = address === 's' ? 0.9 : 0.05;
    const source = random.chance(isSession)
      ? list([str(address), ...nothing, filter])
      : list([str(address)]);
    this.#say({
      kind: 'attach',
      name: `link-${handle}`,
      handle,
      role,
      source: described(0x28n, source),
      target: target ?? described(0x29n, list([str(address)])),
      ...(role === 'sender' ? { initialDeliveryCount: random.pick([0, 4_294_967_295]) } : {}),
      ...(random.chance(0.3) ? { senderSettleMode: random.below(3) } : {}),
      ...(random.chance(0.3) ? { receiverSettleMode: random.below(2) } : {}),
      ...(random.chance(0.2)
        ? {
            properties: mapOf({
              'com.microsoft:timeout': uint(random.below(100)),
              x: anyValue(random),
            }),
          }
        : {}),
    });
    return handle;
  }

  #flow(handle: number | undefined): void {
    const random = this.#random;
    this.#say({
      kind: 'flow',
      nextIncomingId: 0,
      incomingWindow: random.pick([0, 100, 4_294_967_295]),
      nextOutgoingId: 0,
      outgoingWindow: 100,
      ...(handle === undefined ? {} : { handle, deliveryCount: 0 }),
      linkCredit: random.pick([0, 1, 10, 1000, 4_294_967_295]),
      drain: random.chance(0.3),
      echo: random.chance(0.3),
    });
  }

  #receiver(address: string): void {
    const handle = this.#attach('receiver', address);
    if (this.#random.chance(0.9)) this.#flow(handle);
  }

  #sender(): void {
    const random = this.#random;
    const handle = this.#attach('sender', random.pick(['q', 's', 't', 'nowhere']));
    for (let i = random.below(4); i > 0; i--) this.#transfer(handle, anyMessage(this.#random));
    if (random.chance(0.3)) {
      const inner = Array.from({ length: random.below(4) }, () => anyMessage(this.#random));
      const body = inner.map((one) => described(SECTION.data, binary(one)));
      this.#transfer(handle, writeSections({ body }), { messageFormat: BATCH_FORMAT });
    }
  }

  #transfer(handle: number, payload: Uint8Array, more: Partial<Performative> = {}): void {
    const random = this.#random;
    const deliveryId = this.#deliveries++;
    const tag = Buffer.from([deliveryId & 0xff]);
    const parts = random.chance(0.2) ? random.between(2, 5) : 1;
    const size = Math.ceil(payload.byteLength / parts);
    for (let part = 0; part < parts; part++) {
      this.#say(
        {
          kind: 'transfer',
          handle,
          deliveryId,
          deliveryTag: tag,
          settled: random.chance(0.2),
          more: part < parts - 1,
          ...(random.chance(0.1) ? { state: anyState(this.#random) } : {}),
          ...(random.chance(0.02) ? { aborted: true } : {}),
          ...more,
        } as Performative,
        0,
        payload.subarray(part * size, (part + 1) * size),
      );
    }
  }

  #request(address: string): void {
    const random = this.#random;
    const asks = this.#attach('sender', address);
    this.#receiver(address);
    const operation = random.pick(OPERATIONS);
    const isToken = operation === 'put-token';
    const payload = writeSections({
      properties: list([orAny(random, str('1')), NULL, NULL, NULL, str(random.pick(ADDRESSES))]),
      applicationProperties: mapOf({
        operation: str(isToken ? operation : `com.microsoft:${operation}`),
        name: str(`sb://localhost/${random.pick(ADDRESSES)}`),
        type: str('servicebus.windows.net:sastoken'),
      }),
      body: [described(SECTION.value, isToken ? str(this.#keys.token) : anyRequest(random))],
    });
    for (let i = random.below(3); i >= 0; i--) this.#transfer(asks, payload);
  }

  #coordinator(): void {
    const handle = this.#attach('sender', '', described(0x30n, list([])));
    const id = binary(Buffer.alloc(16));
    this.#transfer(handle, value(described(0x31n, list([]))));
    this.#transfer(handle, value(described(0x32n, list([id, bool(this.#random.chance(0.5))]))));
  }
}

function value(command: AmqpValue): Buffer {
  return writeSections({ body: [described(SECTION.value, command)] });
}
