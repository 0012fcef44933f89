import type { Message } from './message.ts';
import { textsOf } from './printed-size.ts';
import type { Properties, PropertyValue } from './property-value.ts';

/**
 * Upper bounds of the size of messages in the AMQP format of the HTTP interface, which `writeMessage` of amqp/messages
 * and lambdas/http/format write. A receive uses them to claim no more messages than its answer can carry. Sizes in
 * bytes.
 */

/**
 * What a message takes without its texts, its properties, its body and its AMQP-only sections: the names, types and
 * numbers of all fields and annotations that the broker adds, and the data section around the message.
 */
const FRAME_BYTES = 512;
/** The type and the length in front of a text or of bytes. */
const PREFIX_BYTES = 5;
/** The most that a property takes beyond what `propertiesBytes` counts for it: a dateTimeOffset with its descriptor. */
const PROPERTY_EXTRA_BYTES = 40;
/** No property takes more than so many times its JSON. */
const PER_PRINTED_BYTE = 2;

/** The maximum size of a message in the AMQP format. */
export function encodedSize(message: Message): number {
  const { body, amqp, properties } = message;
  const bytes = FRAME_BYTES + body.byteLength + (amqp?.byteLength ?? 0);
  return textsOf(message).reduce(
    (sum, text) => sum + textSize(text),
    bytes + encodedPropertiesSize(properties),
  );
}

/** The maximum size of application properties in the AMQP format. */
export function encodedPropertiesSize(properties: Properties): number {
  return Object.entries(properties).reduce(
    (sum, [name, value]) => sum + textSize(name) + valueSize(value),
    0,
  );
}

/**
 * The maximum size of messages of which only totals are known. `bytes` = the sum of `messageSize`, plus 64 bytes for
 * each message; `printed` = at least the sum of `printedSize`. Either bounds what the properties take beyond `bytes`: a
 * message has no more of them than bytes, and none takes more than twice its JSON.
 */
export function encodedSizeBound(bytes: number, messages: number, printed: number): number {
  const extra = Math.min(PROPERTY_EXTRA_BYTES * bytes, PER_PRINTED_BYTE * printed);
  return bytes + FRAME_BYTES * messages + extra;
}

/** The maximum size of a text in the AMQP format. Half a surrogate pair counts three bytes, which it takes alone. */
export function textSize(text: string): number {
  let bytes = PREFIX_BYTES + text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff ? 2 : 1;
  }
  return bytes;
}

/** The symbol that describes a value of this type, with its own type and length. */
const DESCRIPTOR_BYTES = '\0\xa3\0com.microsoft:datetime-offset'.length;
const NUMBER_BYTES = 9;
const OCTETS_BYTES = 17;

function valueSize(value: PropertyValue): number {
  switch (value.type) {
    case 'null':
    case 'boolean':
      return 1;
    case 'string':
    case 'char':
      return textSize(value.value);
    case 'uri':
      return DESCRIPTOR_BYTES + textSize(value.value);
    case 'bytes':
      return PREFIX_BYTES + value.value.byteLength;
    case 'guid':
    case 'decimal':
      return OCTETS_BYTES;
    case 'timeSpan':
    case 'dateTimeOffset':
      return DESCRIPTOR_BYTES + NUMBER_BYTES;
    default:
      return NUMBER_BYTES;
  }
}
