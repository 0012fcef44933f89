import { CODE, codeOf } from './descriptors.ts';
import { Fields } from './fields.ts';
import { present } from './present.ts';
import { type DeliveryState, type ErrorInfo, readDeliveryState, readError } from './states.ts';
import type { AmqpValue } from './value.ts';
import { DecodeError } from './wire-error.ts';

const UBYTE_MAX = 0xff;

/** The nine performatives (part 2.7 of the standard), as far as a server of queues needs them. */
export type Performative =
  | Open
  | Begin
  | Attach
  | Flow
  | Transfer
  | Disposition
  | Detach
  | { readonly kind: 'end'; readonly error?: ErrorInfo }
  | { readonly kind: 'close'; readonly error?: ErrorInfo };

export interface Open {
  readonly kind: 'open';
  readonly containerId: string;
  readonly hostname?: string;
  readonly maxFrameSize?: number;
  readonly channelMax?: number;
  readonly idleTimeOutMs?: number;
}

export interface Begin {
  readonly kind: 'begin';
  readonly remoteChannel?: number;
  readonly nextOutgoingId: number;
  readonly incomingWindow: number;
  readonly outgoingWindow: number;
  readonly handleMax?: number;
}

export interface Attach {
  readonly kind: 'attach';
  readonly name: string;
  readonly handle: number;
  /** Of the peer that sends this. */
  readonly role: 'sender' | 'receiver';
  readonly senderSettleMode?: number;
  readonly receiverSettleMode?: number;
  /** Described lists, left as they are: a terminus may be of several kinds. */
  readonly source?: AmqpValue;
  readonly target?: AmqpValue;
  readonly initialDeliveryCount?: number;
  readonly maxMessageSize?: bigint;
  readonly properties?: AmqpValue;
}

export interface Flow {
  readonly kind: 'flow';
  readonly nextIncomingId?: number;
  readonly incomingWindow: number;
  readonly nextOutgoingId: number;
  readonly outgoingWindow: number;
  readonly handle?: number;
  readonly deliveryCount?: number;
  readonly linkCredit?: number;
  readonly drain?: boolean;
  readonly echo?: boolean;
}

export interface Transfer {
  readonly kind: 'transfer';
  readonly handle: number;
  readonly deliveryId?: number;
  readonly deliveryTag?: Uint8Array;
  readonly messageFormat?: number;
  readonly settled?: boolean;
  readonly more?: boolean;
  readonly state?: DeliveryState;
  readonly aborted?: boolean;
}

export interface Disposition {
  readonly kind: 'disposition';
  readonly role: 'sender' | 'receiver';
  readonly first: number;
  readonly last?: number;
  readonly settled?: boolean;
  readonly state?: DeliveryState;
}

export interface Detach {
  readonly kind: 'detach';
  readonly handle: number;
  readonly closed?: boolean;
  readonly error?: ErrorInfo;
}

const KINDS: ReadonlyMap<bigint, Performative['kind']> = new Map(
  (
    [
      'open',
      'begin',
      'attach',
      'flow',
      'transfer',
      'disposition',
      'detach',
      'end',
      'close',
    ] as const
  ).map((kind) => [CODE[kind], kind]),
);

/** Reads a performative. Throws DecodeError. */
export function readPerformative(value: AmqpValue): Performative {
  const kind = requiredKind(value);
  const fields = new Fields(value);
  switch (kind) {
    case 'open':
      return readOpen(fields);
    case 'begin':
      return readBegin(fields);
    case 'attach':
      return readAttach(fields);
    case 'flow':
      return readFlow(fields);
    case 'transfer':
      return readTransfer(fields);
    case 'disposition':
      return readDisposition(fields);
    case 'detach': {
      const handle = fields.requiredUint(0);
      return {
        kind,
        handle,
        closed: fields.flag(1),
        ...present({ error: readError(fields.at(2)) }),
      };
    }
    case 'end':
    case 'close':
      return { kind, ...present({ error: readError(fields.at(0)) }) };
  }
}

export function isAttach(value: AmqpValue): boolean {
  return kindOf(value) === 'attach';
}

function requiredKind(value: AmqpValue): Performative['kind'] {
  const kind = kindOf(value);
  if (kind === undefined) throw new DecodeError('a frame says something unknown');
  return kind;
}

function kindOf(value: AmqpValue): Performative['kind'] | undefined {
  const code = codeOf(value);
  return code === undefined ? undefined : KINDS.get(code);
}

function readOpen(fields: Fields): Open {
  const containerId = fields.text(0);
  if (containerId === undefined) throw new DecodeError('an open names no container');
  return {
    kind: 'open',
    containerId,
    ...present({
      hostname: fields.text(1),
      maxFrameSize: fields.uint(2),
      channelMax: fields.uint(3),
      idleTimeOutMs: fields.uint(4),
    }),
  };
}

function readBegin(fields: Fields): Begin {
  return {
    kind: 'begin',
    nextOutgoingId: fields.requiredUint(1),
    incomingWindow: fields.requiredUint(2),
    outgoingWindow: fields.requiredUint(3),
    ...present({ remoteChannel: fields.uint(0), handleMax: fields.uint(4) }),
  };
}

function readAttach(fields: Fields): Attach {
  const name = fields.text(0);
  if (name === undefined) throw new DecodeError('an attach names no link');
  const size = fields.at(10);
  return {
    kind: 'attach',
    name,
    handle: fields.requiredUint(1),
    role: fields.flag(2) ? 'receiver' : 'sender',
    ...present({
      senderSettleMode: fields.uint(3, UBYTE_MAX),
      receiverSettleMode: fields.uint(4, UBYTE_MAX),
      source: fields.at(5),
      target: fields.at(6),
      initialDeliveryCount: fields.uint(9),
      maxMessageSize: size?.type === 'ulong' ? size.value : undefined,
      properties: fields.at(13),
    }),
  };
}

function readFlow(fields: Fields): Flow {
  return {
    kind: 'flow',
    incomingWindow: fields.requiredUint(1),
    nextOutgoingId: fields.requiredUint(2),
    outgoingWindow: fields.requiredUint(3),
    drain: fields.flag(8),
    echo: fields.flag(9),
    ...present({
      nextIncomingId: fields.uint(0),
      handle: fields.uint(4),
      deliveryCount: fields.uint(5),
      linkCredit: fields.uint(6),
    }),
  };
}

function readTransfer(fields: Fields): Transfer {
  return {
    kind: 'transfer',
    handle: fields.requiredUint(0),
    settled: fields.flag(4),
    more: fields.flag(5),
    aborted: fields.flag(9),
    ...present({
      deliveryId: fields.uint(1),
      deliveryTag: fields.octets(2),
      messageFormat: fields.uint(3),
      state: readDeliveryState(fields.at(7)),
    }),
  };
}

function readDisposition(fields: Fields): Disposition {
  return {
    kind: 'disposition',
    role: fields.flag(0) ? 'receiver' : 'sender',
    first: fields.requiredUint(1),
    settled: fields.flag(3),
    ...present({ last: fields.uint(2), state: readDeliveryState(fields.at(4)) }),
  };
}
