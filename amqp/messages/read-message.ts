import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { unlimitedAbove } from '../../shared/domain/duration.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { requireBatchFits } from '../../shared/domain/messages/outgoing-rules.ts';
import { requireCountFits } from '../../shared/domain/messages/property-limits.ts';
import { codeOf } from '../wire/descriptors.ts';
import { Fields } from '../wire/fields.ts';
import { present } from '../wire/present.ts';
import { type AmqpValue, bigintOf, fieldsOf, textOf } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';
import { packAmqpOnly } from './amqp-only-sections.ts';
import {
  ANNOTATION,
  BROKER_ANNOTATIONS,
  BROKER_DELIVERY_ANNOTATIONS,
  HEADER,
  PROPERTY,
} from './annotations.ts';
import { type HoldBytes, readBody } from './bodies.ts';
import { idText } from './json-text.ts';
import { toProperties } from './property-values.ts';
import { readSections, SECTION, type Sections } from './sections.ts';

/** The message format of a batch: its data sections are messages (semantics W20). */
export const BATCH_FORMAT = 0x80013700;
const { heldPerByte: HELD_PER_BYTE } = BUDGETS.delivery;
const { sentMessageBytes: MESSAGE_BYTES } = BUDGETS.weights;
/** A name and a value. */
const PROPERTY_BYTES = 2 * BUDGETS.weights.valueBytes;

/**
 * The messages in one delivery. `hold` is told of memory that messages take beside their bytes, and may
 * throw. Throws ArgumentError for bytes that are none, and MessageSizeExceeded as `readBody` does.
 */
export function readDelivery(
  payload: Uint8Array,
  format: number,
  hold: HoldBytes = () => {},
): readonly OutgoingMessage[] {
  const bytesOfAll = payload.byteLength;
  if (format !== BATCH_FORMAT) {
    return withArgumentErrors(() => readEach([payload], { valuesBefore: 0, bytesOfAll }, hold));
  }
  return withArgumentErrors(() => {
    const { body, values: valuesBefore } = readSections(payload);
    requireBatchFits(body.length);
    return readEach(body.map(bytesOf), { valuesBefore, bytesOfAll }, hold);
  });
}

/**
 * Messages that came together, each encoded by itself; `before` resolves when so many bytes more may be
 * read, and `hold` is told of all memory that the messages take. Throws what these throw, ArgumentError for
 * bytes that are none, and MessageSizeExceeded for more messages than a batch may have.
 */
export async function readMessages(
  encoded: readonly Uint8Array[],
  before: (bytes: number) => Promise<void> | undefined = () => undefined,
  hold: HoldBytes = () => {},
): Promise<readonly OutgoingMessage[]> {
  requireBatchFits(encoded.length);
  const messages: OutgoingMessage[] = [];
  const bytesOfAll = encoded.reduce((sum, { byteLength }) => sum + byteLength, 0);
  let valuesBefore = 0;
  for (const bytes of encoded) {
    await before(bytes.byteLength);
    hold(bytes.byteLength * HELD_PER_BYTE);
    const delivery = { valuesBefore, bytesOfAll };
    const [message, values] = withArgumentErrors(() => readOne(bytes, delivery, hold));
    valuesBefore = values;
    messages.push(message);
  }
  return messages;
}

function bytesOf(section: AmqpValue): Uint8Array {
  if (codeOf(section) !== SECTION.data || section.type !== 'described') {
    throw new DecodeError('a batch consists of data sections');
  }
  if (section.value.type !== 'binary') throw new DecodeError('a data section holds bytes');
  return section.value.value;
}

/** What a message came in: the values that were read of it before, and all its bytes. */
interface DeliveryTotals {
  readonly valuesBefore: number;
  readonly bytesOfAll: number;
}

function readEach(
  encoded: readonly Uint8Array[],
  { valuesBefore, bytesOfAll }: DeliveryTotals,
  hold: HoldBytes,
): OutgoingMessage[] {
  let values = valuesBefore;
  return encoded.map((bytes) => {
    const [message, valuesThen] = readOne(bytes, { valuesBefore: values, bytesOfAll }, hold);
    values = valuesThen;
    return message;
  });
}

/** One message, and how many values were read with those before. */
function readOne(
  bytes: Uint8Array,
  delivery: DeliveryTotals,
  hold: HoldBytes,
): readonly [OutgoingMessage, number] {
  hold(MESSAGE_BYTES);
  const sections = readSections(bytes, delivery);
  const message = toMessage(sections, bytes.byteLength, hold);
  const longer = Math.max(0, (message.amqp?.byteLength ?? 0) - bytes.byteLength);
  hold(longer + Object.keys(message.properties).length * PROPERTY_BYTES);
  return [message, sections.values];
}

function withArgumentErrors<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new BrokerError('ArgumentError', error.message, { cause: error });
  }
}

function toMessage(sections: Sections, bytes: number, hold: HoldBytes): OutgoingMessage {
  const header = new Fields(sections.header ?? EMPTY);
  const properties = new Fields(sections.properties ?? EMPTY);
  const annotations = fieldsOf(sections.annotations);
  const { applicationProperties } = sections;
  if (applicationProperties?.type === 'map') requireCountFits(applicationProperties.value.length);
  const { properties: application, others } = toProperties(applicationProperties);
  const { body, form } = readBody(sections.body, bytes, hold);
  const amqp = packAmqpOnly({
    ...present({
      durable: header.at(HEADER.durable),
      priority: header.at(HEADER.priority),
      firstAcquirer: header.at(HEADER.firstAcquirer),
      footer: sections.footer,
    }),
    annotations: senderAnnotations(sections.annotations, BROKER_ANNOTATIONS),
    deliveryAnnotations: senderAnnotations(
      sections.deliveryAnnotations,
      BROKER_DELIVERY_ANNOTATIONS,
    ),
    properties: amqpOnlyProperties(properties),
    others,
    body: form,
  });
  return {
    body,
    properties: application,
    ...present({
      messageId: idText(properties.at(PROPERTY.messageId)) || undefined,
      correlationId: idText(properties.at(PROPERTY.correlationId)),
      to: properties.text(PROPERTY.to),
      label: properties.text(PROPERTY.subject),
      replyTo: properties.text(PROPERTY.replyTo),
      contentType: properties.text(PROPERTY.contentType),
      sessionId: properties.text(PROPERTY.groupId),
      replyToSessionId: properties.text(PROPERTY.replyToGroupId),
      partitionKey: partitionKeyText(annotations.get(ANNOTATION.partitionKey)),
      viaPartitionKey: partitionKeyText(annotations.get(ANNOTATION.viaPartitionKey)),
      scheduledEnqueueAt: instantOf(annotations.get(ANNOTATION.scheduledEnqueueTime)),
      timeToLiveMs: timeToLive(header, properties),
      amqp,
      bodyShowsAmqp: form?.kind === 'sections' || undefined,
    }),
  };
}

const EMPTY: AmqpValue = {
  type: 'described',
  descriptor: { type: 'null' },
  value: { type: 'list', value: [] },
};

/** A number of ms. One of no year that there is comes out as such, so that it is refused and not left out. */
function instantOf(value: AmqpValue | undefined): number | undefined {
  const ms = bigintOf(value) ?? (value?.type === 'timestamp' ? value.value : undefined);
  return ms === undefined ? undefined : Number(ms);
}

/** Where the header's 32 bits end, the instant of expiry says how long a message lives. */
const HEADER_TTL_MAX = 0xffff_ffff;

function timeToLive(header: Fields, properties: Fields): number | undefined {
  const ms = header.number(HEADER.timeToLive);
  const created = properties.number(PROPERTY.creationTime);
  const expires = properties.number(PROPERTY.absoluteExpiryTime);
  if (ms === undefined) return undefined;
  if (ms < HEADER_TTL_MAX || created === undefined || expires === undefined) return ms;
  return unlimitedAbove(Math.max(ms, expires - created));
}

/** What of the properties section a plain text does not bring back. */
function amqpOnlyProperties(properties: Fields): readonly (AmqpValue | undefined)[] {
  return Object.values(PROPERTY).map((place) => {
    const value = properties.at(place);
    switch (place) {
      case PROPERTY.messageId:
      case PROPERTY.correlationId:
        return value?.type === 'string' ? undefined : value;
      case PROPERTY.userId:
      case PROPERTY.contentEncoding:
      case PROPERTY.creationTime:
      case PROPERTY.groupSequence:
        return value;
      default:
        return undefined;
    }
  });
}

/** An annotation that some client sends as bytes is a text, too. */
function partitionKeyText(value: AmqpValue | undefined): string | undefined {
  return value?.type === 'binary' ? Buffer.from(value.value).toString('utf8') : textOf(value);
}

function senderAnnotations(annotations: AmqpValue | undefined, own: ReadonlySet<string>) {
  if (annotations?.type !== 'map') return [];
  return annotations.value.filter(([key]) => !own.has(textOf(key) ?? ''));
}
