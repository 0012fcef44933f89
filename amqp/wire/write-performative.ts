import { CODE } from './descriptors.ts';
import { filled } from './fields.ts';
import type { Attach, Performative } from './performatives.ts';
import { writeDeliveryState, writeError } from './states.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  str,
  ubyte,
  uint,
  ulong,
  ushort,
} from './value.ts';

/** How many fields the standard gives each. */
const FIELDS = {
  open: 10,
  begin: 8,
  attach: 14,
  flow: 11,
  transfer: 11,
  disposition: 6,
  detach: 3,
  end: 1,
  close: 1,
} as const satisfies Record<Performative['kind'], number>;

/**
 * Encodes a performative as the described list it is. It has all of its fields: the official Python
 * client reads them by place, and fails where those at the end are left out.
 */
export function writePerformative(performative: Performative): AmqpValue {
  const { kind } = performative;
  return described(CODE[kind], filled(listOf(performative), FIELDS[kind]));
}

function listOf(one: Performative): readonly (AmqpValue | undefined)[] {
  switch (one.kind) {
    case 'open':
      return [
        str(one.containerId),
        maybe(str, one.hostname),
        maybe(uint, one.maxFrameSize),
        maybe(ushort, one.channelMax),
        maybe(uint, one.idleTimeOutMs),
      ];
    case 'begin':
      return [
        maybe(ushort, one.remoteChannel),
        uint(one.nextOutgoingId),
        uint(one.incomingWindow),
        uint(one.outgoingWindow),
        maybe(uint, one.handleMax),
      ];
    case 'attach':
      return attachList(one);
    case 'flow':
      return [
        maybe(uint, one.nextIncomingId),
        uint(one.incomingWindow),
        uint(one.nextOutgoingId),
        uint(one.outgoingWindow),
        maybe(uint, one.handle),
        maybe(uint, one.deliveryCount),
        maybe(uint, one.linkCredit),
        undefined,
        maybe(bool, one.drain),
        maybe(bool, one.echo),
      ];
    case 'transfer':
      return [
        uint(one.handle),
        maybe(uint, one.deliveryId),
        maybe(binary, one.deliveryTag),
        maybe(uint, one.messageFormat),
        maybe(bool, one.settled),
        maybe(bool, one.more),
        undefined,
        maybe(writeDeliveryState, one.state),
      ];
    case 'disposition':
      return [
        bool(one.role === 'receiver'),
        uint(one.first),
        maybe(uint, one.last),
        maybe(bool, one.settled),
        maybe(writeDeliveryState, one.state),
      ];
    case 'detach':
      return [uint(one.handle), maybe(bool, one.closed), maybe(writeError, one.error)];
    case 'end':
    case 'close':
      return [maybe(writeError, one.error)];
  }
}

function attachList(one: Attach): readonly (AmqpValue | undefined)[] {
  return [
    str(one.name),
    uint(one.handle),
    bool(one.role === 'receiver'),
    maybe(ubyte, one.senderSettleMode),
    maybe(ubyte, one.receiverSettleMode),
    one.source,
    one.target,
    undefined,
    undefined,
    maybe(uint, one.initialDeliveryCount),
    maybe(ulong, one.maxMessageSize),
    undefined,
    undefined,
    one.properties,
  ];
}

function maybe<T>(wrap: (value: T) => AmqpValue, value: T | undefined): AmqpValue | undefined {
  return value === undefined ? undefined : wrap(value);
}
