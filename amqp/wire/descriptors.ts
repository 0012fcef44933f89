import type { AmqpValue } from './value.ts';

/** Numeric descriptors of the standard's described types that this server reads or writes. */
export const CODE = {
  open: 0x10n,
  begin: 0x11n,
  attach: 0x12n,
  flow: 0x13n,
  transfer: 0x14n,
  disposition: 0x15n,
  detach: 0x16n,
  end: 0x17n,
  close: 0x18n,
  error: 0x1dn,
  accepted: 0x24n,
  rejected: 0x25n,
  released: 0x26n,
  modified: 0x27n,
  coordinator: 0x30n,
  declare: 0x31n,
  discharge: 0x32n,
  declared: 0x33n,
  transactional: 0x34n,
  saslMechanisms: 0x40n,
  saslInit: 0x41n,
  saslOutcome: 0x44n,
  header: 0x70n,
  deliveryAnnotations: 0x71n,
  annotations: 0x72n,
  properties: 0x73n,
  applicationProperties: 0x74n,
  data: 0x75n,
  sequence: 0x76n,
  value: 0x77n,
  footer: 0x78n,
} as const;

/** The symbolic descriptors. A peer may use either form for any type (part 1.5 of the standard; semantics W8). */
const CODES_BY_SYMBOL: ReadonlyMap<string, bigint> = new Map([
  ['amqp:open:list', CODE.open],
  ['amqp:begin:list', CODE.begin],
  ['amqp:attach:list', CODE.attach],
  ['amqp:flow:list', CODE.flow],
  ['amqp:transfer:list', CODE.transfer],
  ['amqp:disposition:list', CODE.disposition],
  ['amqp:detach:list', CODE.detach],
  ['amqp:end:list', CODE.end],
  ['amqp:close:list', CODE.close],
  ['amqp:error:list', CODE.error],
  ['amqp:accepted:list', CODE.accepted],
  ['amqp:rejected:list', CODE.rejected],
  ['amqp:released:list', CODE.released],
  ['amqp:modified:list', CODE.modified],
  ['amqp:coordinator:list', CODE.coordinator],
  ['amqp:declare:list', CODE.declare],
  ['amqp:discharge:list', CODE.discharge],
  ['amqp:declared:list', CODE.declared],
  ['amqp:transactional-state:list', CODE.transactional],
  ['amqp:sasl-mechanisms:list', CODE.saslMechanisms],
  ['amqp:sasl-init:list', CODE.saslInit],
  ['amqp:sasl-outcome:list', CODE.saslOutcome],
  ['amqp:header:list', CODE.header],
  ['amqp:delivery-annotations:map', CODE.deliveryAnnotations],
  ['amqp:message-annotations:map', CODE.annotations],
  ['amqp:properties:list', CODE.properties],
  ['amqp:application-properties:map', CODE.applicationProperties],
  ['amqp:data:binary', CODE.data],
  ['amqp:amqp-sequence:list', CODE.sequence],
  ['amqp:amqp-value:*', CODE.value],
  ['amqp:footer:map', CODE.footer],
]);

/**
 * Returns the numeric descriptor of a described value, also if the value carries the symbolic one. Returns
 * undefined if the value is not described, or if its symbolic descriptor is not one of the standard's.
 */
export function codeOf(value: AmqpValue | undefined): bigint | undefined {
  if (value?.type !== 'described') return undefined;
  const { descriptor } = value;
  switch (descriptor.type) {
    case 'ulong':
      return descriptor.value;
    case 'symbol':
      return CODES_BY_SYMBOL.get(descriptor.value);
    default:
      return undefined;
  }
}
