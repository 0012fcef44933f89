import { CODE, codeOf } from './descriptors.ts';
import { ListFields } from './fields.ts';
import { readDeliveryState, readError, writeDeliveryState, writeError } from './states.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  list,
  NULL,
  str,
  ubyte,
  uint,
  ulong,
  ushort,
} from './value.ts';
import { DecodeError } from './wire-error.ts';

const UBYTE_MAX = 0xff;

/** How the fields of one type are read from a list and written to it. */
interface FieldType<Type> {
  /** Undefined = absent or of another type. Throws DecodeError for a value that the field cannot have. */
  readonly read: (fields: ListFields, position: number) => Type | undefined;
  readonly write: (value: Type) => AmqpValue;
}

interface Optional<Type> extends FieldType<Type> {
  readonly position: number;
}

interface Mandatory<Type> extends Optional<Type> {
  /** The error of a frame without the field. */
  readonly missing: string;
}

const optional = <Type>(position: number, type: FieldType<Type>): Optional<Type> => ({
  ...type,
  position,
});
const mandatory = <Type>(
  position: number,
  type: FieldType<Type>,
  missing = 'a mandatory field is missing',
): Mandatory<Type> => ({ ...type, position, missing });

const TEXT: FieldType<string> = { read: (fields, position) => fields.text(position), write: str };
const UINT: FieldType<number> = { read: (fields, position) => fields.uint(position), write: uint };
const USHORT: FieldType<number> = { ...UINT, write: ushort };
const UBYTE: FieldType<number> = {
  read: (fields, position) => fields.uint(position, UBYTE_MAX),
  write: ubyte,
};
const ULONG: FieldType<bigint> = {
  read: (fields, position) => fields.ulong(position),
  write: ulong,
};
const BINARY: FieldType<Uint8Array> = {
  read: (fields, position) => fields.octets(position),
  write: binary,
};
/** False where it is absent. */
const FLAG: FieldType<boolean> = { read: (fields, position) => fields.flag(position), write: bool };
const ROLE: FieldType<'sender' | 'receiver'> = {
  read: (fields, position) => (fields.flag(position) ? 'receiver' : 'sender'),
  write: (role) => bool(role === 'receiver'),
};
/** Left as it is, for instance the described list of a terminus, which may be of several kinds. */
const VALUE: FieldType<AmqpValue> = {
  read: (fields, position) => fields.at(position),
  write: (value) => value,
};
const STATE = {
  read: (fields: ListFields, position: number) => readDeliveryState(fields.at(position)),
  write: writeDeliveryState,
};
const ERROR = {
  read: (fields: ListFields, position: number) => readError(fields.at(position)),
  write: writeError,
};

/**
 * The nine performatives (part 2.7 of the standard): the number of fields that the standard gives each, and the fields
 * that this server uses, in the order in which it reads and checks them.
 */
const PERFORMATIVES = {
  open: {
    length: 10,
    fields: {
      containerId: mandatory(0, TEXT, 'an open names no container'),
      hostname: optional(1, TEXT),
      maxFrameSize: optional(2, UINT),
      channelMax: optional(3, USHORT),
      idleTimeOutMs: optional(4, UINT),
    },
  },
  begin: {
    length: 8,
    fields: {
      nextOutgoingId: mandatory(1, UINT),
      incomingWindow: mandatory(2, UINT),
      outgoingWindow: mandatory(3, UINT),
      remoteChannel: optional(0, USHORT),
      handleMax: optional(4, UINT),
    },
  },
  attach: {
    length: 14,
    fields: {
      name: mandatory(0, TEXT, 'an attach names no link'),
      handle: mandatory(1, UINT),
      /** Of the peer that sends this. */
      role: mandatory(2, ROLE),
      senderSettleMode: optional(3, UBYTE),
      receiverSettleMode: optional(4, UBYTE),
      source: optional(5, VALUE),
      target: optional(6, VALUE),
      initialDeliveryCount: optional(9, UINT),
      maxMessageSize: optional(10, ULONG),
      properties: optional(13, VALUE),
    },
  },
  flow: {
    length: 11,
    fields: {
      incomingWindow: mandatory(1, UINT),
      nextOutgoingId: mandatory(2, UINT),
      outgoingWindow: mandatory(3, UINT),
      nextIncomingId: optional(0, UINT),
      handle: optional(4, UINT),
      deliveryCount: optional(5, UINT),
      linkCredit: optional(6, UINT),
      drain: optional(8, FLAG),
      echo: optional(9, FLAG),
    },
  },
  transfer: {
    length: 11,
    fields: {
      handle: mandatory(0, UINT),
      deliveryId: optional(1, UINT),
      deliveryTag: optional(2, BINARY),
      messageFormat: optional(3, UINT),
      settled: optional(4, FLAG),
      more: optional(5, FLAG),
      state: optional(7, STATE),
      aborted: optional(9, FLAG),
    },
  },
  disposition: {
    length: 6,
    fields: {
      role: mandatory(0, ROLE),
      first: mandatory(1, UINT),
      last: optional(2, UINT),
      settled: optional(3, FLAG),
      state: optional(4, STATE),
    },
  },
  detach: {
    length: 3,
    fields: { handle: mandatory(0, UINT), closed: optional(1, FLAG), error: optional(2, ERROR) },
  },
  end: { length: 1, fields: { error: optional(0, ERROR) } },
  close: { length: 1, fields: { error: optional(0, ERROR) } },
};

type Table = typeof PERFORMATIVES;
type Kind = keyof Table;
type TypeOf<Field> = Field extends { readonly write: (value: infer Type) => AmqpValue }
  ? Type
  : never;
type MandatoryOf<All> = {
  [Name in keyof All]: All[Name] extends { readonly missing: string } ? Name : never;
}[keyof All];
type ValuesOf<All> = { readonly [Name in MandatoryOf<All>]: TypeOf<All[Name]> } & {
  readonly [Name in Exclude<keyof All, MandatoryOf<All>>]?: TypeOf<All[Name]>;
};
type Of<One extends Kind> = { readonly kind: One } & ValuesOf<Table[One]['fields']>;

/** A performative, the body of an AMQP frame. */
export type Performative = { [One in Kind]: Of<One> }[Kind];
/** Opens a connection. */
export type Open = Of<'open'>;
/** Begins a session. */
export type Begin = Of<'begin'>;
/** Attaches a link. */
export type Attach = Of<'attach'>;
/** Updates credit and windows of a session or link. */
export type Flow = Of<'flow'>;
/** Carries a part of a message. */
export type Transfer = Of<'transfer'>;
/** Updates the state of deliveries. */
export type Disposition = Of<'disposition'>;
/** Detaches a link. */
export type Detach = Of<'detach'>;

/** A field of any type: what it takes is known by its name only. */
type AnyField = Omit<Optional<unknown>, 'write'> &
  Partial<Pick<Mandatory<unknown>, 'missing'>> & { readonly write: (value: never) => AmqpValue };

const KINDS: ReadonlyMap<bigint, Kind> = new Map(
  (Object.keys(PERFORMATIVES) as Kind[]).map((kind) => [CODE[kind], kind]),
);
const FIELDS = Object.fromEntries(
  Object.entries(PERFORMATIVES).map(([kind, { fields }]) => [kind, Object.entries(fields)]),
) as unknown as Record<Kind, readonly (readonly [string, AnyField])[]>;

/** Reads a performative. Throws DecodeError. */
export function readPerformative(value: AmqpValue): Performative {
  const kind = kindOf(value);
  if (kind === undefined) throw new DecodeError('a frame has an unknown performative');
  const fields = new ListFields(value);
  const performative: Record<string, unknown> = { kind };
  for (const [name, { read, position, missing }] of FIELDS[kind]) {
    const field = read(fields, position);
    if (field !== undefined) performative[name] = field;
    else if (missing !== undefined) throw new DecodeError(missing);
  }
  return performative as unknown as Performative;
}

/**
 * Encodes a performative as the described list it is. It has all of its fields: the official Python
 * client reads them by position, and fails where those at the end are left out.
 */
export function writePerformative(performative: Performative): AmqpValue {
  const { kind } = performative;
  const values = new Array<AmqpValue>(PERFORMATIVES[kind].length).fill(NULL);
  for (const [name, { write, position }] of FIELDS[kind]) {
    const field = performative[name as keyof Performative];
    if (field !== undefined) values[position] = write(field as never);
  }
  return described(CODE[kind], list(values));
}

/** Whether a described value is an attach performative. */
export function isAttach(value: AmqpValue): boolean {
  return kindOf(value) === 'attach';
}

function kindOf(value: AmqpValue): Kind | undefined {
  const code = codeOf(value);
  return code === undefined ? undefined : KINDS.get(code);
}
