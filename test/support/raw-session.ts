import { readSections, SECTION, writeSections } from '../../amqp/messages/sections.ts';
import type { Attach, Transfer } from '../../amqp/wire/performatives.ts';
import type { DeliveryState } from '../../amqp/wire/states.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  fieldsOf,
  list,
  mapOf,
  NULL,
  numberOf,
  str,
  symbol,
  textOf,
} from '../../amqp/wire/value.ts';
import { RawAmqp } from './raw-amqp.ts';
import { ROOT_KEY } from './start-broker.ts';

const MANY = 100;
/** The maximum part of a message in one frame. */
const FRAME_PAYLOAD_BYTES = 60_000;

export const sourceOf = (address: string, ...more: readonly AmqpValue[]) =>
  described(0x28n, list([str(address), ...more]));
export const targetOf = (address: string) => described(0x29n, list([str(address)]));
export const COORDINATOR = described(0x30n, list([]));

/** A source with a session filter. */
export function sessionSource(address: string, filter: AmqpValue): AmqpValue {
  const filters = mapOf({ 'com.microsoft:session-filter': filter }, symbol);
  return sourceOf(address, ...Array<AmqpValue>(6).fill(NULL), filters);
}

/** A message whose body is one data section. */
export const dataMessage = (body: string) =>
  writeSections({ body: [described(SECTION.data, binary(Buffer.from(body)))] });

/** The text of a message's data section. */
export function dataOf(payload: Uint8Array | undefined): string {
  const [section] = readSections(payload ?? new Uint8Array()).body;
  const value = section?.type === 'described' ? section.value : undefined;
  return value?.type === 'binary' ? Buffer.from(value.value).toString() : '';
}

const command = (code: bigint, ...fields: readonly AmqpValue[]) =>
  writeSections({ body: [described(SECTION.value, described(code, list(fields)))] });

/** A discharge, which commits a transaction or rolls it back. */
export const discharging = (id: Uint8Array, isRollback = false) =>
  command(0x32n, binary(id), bool(isRollback));

export const inTransaction = (transaction: Uint8Array): DeliveryState => ({
  kind: 'transactional',
  transaction,
});
export const accepting = (transaction: Uint8Array): DeliveryState => ({
  kind: 'transactional',
  transaction,
  outcome: { kind: 'accepted' },
});

/** The response to a request. */
export interface RawAnswer {
  readonly status: number | undefined;
  readonly condition: string | undefined;
  readonly body: ReadonlyMap<string, AmqpValue>;
}

type Sending = Partial<Pick<Transfer, 'state' | 'settled' | 'messageFormat'>>;
/** `replyTo` = NULL sends a request without a reply-to address. */
type Requesting = Sending & { readonly replyTo?: AmqpValue };
type Attaching = Partial<Omit<Attach, 'kind' | 'handle' | 'role' | 'source' | 'target'>>;

/** One AMQP session, which attaches and uses links as clients in other languages do. */
export class RawSession {
  readonly raw: RawAmqp;
  readonly #channel: number;
  /** The handles of request links, by address. */
  readonly #requestLinks = new Map<string, number>();
  /** The incoming window, which every flow with credit contains. */
  incomingWindow = MANY;
  #handle = 0;
  #delivery = 0;

  constructor(raw: RawAmqp, channel = 0) {
    this.raw = raw;
    this.#channel = channel;
  }

  /** A session with the root key, on a connection of its own. */
  static root(port: number): RawSession {
    return new RawSession(RawAmqp.authenticated(port, 'RootManageSharedAccessKey', ROOT_KEY));
  }

  /** Attaches a link. Resolves with the server's attach. */
  async attach(
    role: Attach['role'],
    [source, target]: readonly [AmqpValue, AmqpValue],
    more: Attaching = {},
  ): Promise<Attach> {
    const handle = this.#handle++;
    const name = `${role}-${this.#channel}-${handle}`;
    const count = role === 'sender' ? { initialDeliveryCount: 0 } : {};
    this.#say({ kind: 'attach', name, handle, role, source, target, ...count, ...more });
    return await this.raw.hear('attach');
  }

  /** Attaches a sender. Resolves with its handle when it has credit. */
  async sender(target: AmqpValue, more: Attaching = {}): Promise<number> {
    const { handle } = await this.attach('sender', [sourceOf('here'), target], more);
    await this.raw.hear('flow');
    return handle;
  }

  /** Attaches a receiver in peek-lock mode. */
  async receiver(source: AmqpValue, more: Attaching = {}): Promise<Attach> {
    const modes = { senderSettleMode: 0, receiverSettleMode: 1 };
    return await this.attach('receiver', [source, targetOf('here')], { ...modes, ...more });
  }

  credit(handle: number, linkCredit: number, incomingWindow = this.incomingWindow): void {
    const own = { nextIncomingId: 0, incomingWindow, nextOutgoingId: 0, outgoingWindow: MANY };
    this.#say({ kind: 'flow', ...own, handle, deliveryCount: 0, linkCredit });
  }

  /** Receives one message in peek-lock mode. Resolves with its delivery id. */
  async lockOne(queue: string): Promise<number> {
    const { handle } = await this.receiver(sourceOf(queue));
    this.credit(handle, 1);
    return (await this.raw.hear('transfer')).deliveryId ?? -1;
  }

  /** Sends a message. Resolves with its outcome; a presettled delivery has none. */
  async send(
    handle: number,
    payload: Uint8Array,
    more: Sending = {},
  ): Promise<DeliveryState | undefined> {
    const deliveryId = this.sendAhead(handle, payload, more);
    return more.settled ? undefined : (await this.#outcome('receiver', deliveryId)).state;
  }

  /** Sends a message without waiting for its outcome. Returns the delivery id. */
  sendAhead(handle: number, payload: Uint8Array, more: Sending = {}): number {
    const deliveryId = this.#delivery++;
    const deliveryTag = Buffer.from([deliveryId]);
    const transfer = { kind: 'transfer', handle, deliveryId, deliveryTag, ...more } as const;
    let rest = payload;
    for (; rest.length > FRAME_PAYLOAD_BYTES; rest = rest.subarray(FRAME_PAYLOAD_BYTES)) {
      this.#say({ ...transfer, more: true }, rest.subarray(0, FRAME_PAYLOAD_BYTES));
    }
    this.#say(transfer, rest);
    return deliveryId;
  }

  /** The outcomes of these deliveries, in the order of `ids`. */
  async outcomes(...ids: readonly number[]): Promise<readonly (DeliveryState | undefined)[]> {
    const states = new Map<number, DeliveryState | undefined>();
    while (!ids.every((id) => states.has(id))) {
      const { first, last = first, state } = await this.raw.hear('disposition');
      for (let id = first; id <= last; id++) states.set(id, state);
    }
    return ids.map((id) => states.get(id));
  }

  async settle(first: number, state: DeliveryState, settled = false) {
    this.#say({ kind: 'disposition', role: 'receiver', first, settled, state });
    return await this.#outcome('sender', first);
  }

  async declare(coordinator: number): Promise<Uint8Array> {
    const state = await this.send(coordinator, command(0x31n, NULL));
    if (state?.kind !== 'declared') throw new Error('No transaction was declared.');
    return state.transaction;
  }

  async discharge(coordinator: number, id: Uint8Array, isRollback: boolean) {
    return await this.send(coordinator, discharging(id, isRollback));
  }

  /** Sends a request to the management node of an entity. */
  async ask(
    entity: string,
    operation: string,
    body: AmqpValue,
    { fields = {}, ...sending }: Requesting & { fields?: Readonly<Record<string, AmqpValue>> } = {},
  ): Promise<RawAnswer> {
    const handle = await this.#openRequestLink(`${entity}/$management`);
    const said = { operation: str(`com.microsoft:${operation}`), ...fields };
    return await this.#exchange(handle, said, body, sending);
  }

  /** Puts a token for an address. Resolves with the status. */
  async putToken(token: string, address: string): Promise<number | undefined> {
    const handle = await this.#openRequestLink('$cbs');
    const fields = {
      operation: str('put-token'),
      type: str('servicebus.windows.net:sastoken'),
      name: str(address),
    };
    return (await this.#exchange(handle, fields, str(token))).status;
  }

  async #openRequestLink(address: string): Promise<number> {
    const known = this.#requestLinks.get(address);
    if (known !== undefined) return known;
    const handle = await this.sender(targetOf(address));
    const answers = [sourceOf(address), targetOf(`answers-${handle}`)] as const;
    const { handle: hearing } = await this.attach('receiver', answers, { senderSettleMode: 1 });
    this.credit(hearing, MANY);
    this.#requestLinks.set(address, handle);
    return handle;
  }

  async #exchange(
    handle: number,
    fields: Readonly<Record<string, AmqpValue>>,
    body: AmqpValue,
    { replyTo = str(`answers-${handle}`), ...sending }: Requesting = {},
  ): Promise<RawAnswer> {
    const payload = writeSections({
      properties: list([str(`r${this.#delivery}`), NULL, NULL, NULL, replyTo]),
      applicationProperties: mapOf(fields),
      body: [described(SECTION.value, body)],
    });
    await this.send(handle, payload, { settled: true, ...sending });
    const frames: Uint8Array[] = [];
    for (let isMore = true; isMore; ) {
      const { payload: part = new Uint8Array(), more = false } = await this.raw.hear('transfer');
      frames.push(part);
      isMore = more;
    }
    const sections = readSections(Buffer.concat(frames));
    const answer = fieldsOf(sections.applicationProperties);
    const [section] = sections.body;
    return {
      status: numberOf(answer.get('statusCode') ?? answer.get('status-code')),
      condition: textOf(answer.get('errorCondition') ?? answer.get('error-condition')),
      body: fieldsOf(section?.type === 'described' ? section.value : undefined),
    };
  }

  /** The server's disposition of one delivery; skips those of others. */
  async #outcome(role: 'sender' | 'receiver', id: number) {
    for (;;) {
      const said = await this.raw.hear('disposition');
      if (said.role === role && said.first === id) return said;
    }
  }

  #say(performative: Parameters<RawAmqp['say']>[0], payload?: Uint8Array): void {
    this.raw.say(performative, this.#channel, payload);
  }
}
