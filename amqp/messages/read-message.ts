import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { unlimitedAbove } from '../../shared/domain/duration.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { requireBatchFits } from '../../shared/domain/messages/outgoing-rules.ts';
import { requirePropertyCount } from '../../shared/domain/messages/property-limits.ts';
import { present } from '../../shared/domain/present.ts';
import { codeOf } from '../wire/descriptors.ts';
import { ListFields } from '../wire/fields.ts';
import { type AmqpValue, bigintOf, fieldsOf, textOf } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';
import { packAmqpOnly } from './amqp-only-sections.ts';
import {
  ANNOTATION,
  BROKER_ANNOTATIONS,
  BROKER_DELIVERY_ANNOTATIONS,
  HEADER,
  HEADER_TTL_MAX,
  PROPERTY,
} from './annotations.ts';
import { type DecodedAccount, decodedAccount, type HoldBytes, readBody } from './bodies.ts';
import { idText } from './json-text.ts';
import { toProperties } from './property-values.ts';
import { readSections, SECTION, type Sections } from './sections.ts';

/** The message format of a batch: its data sections are messages (semantics W20). */
export const BATCH_FORMAT = 0x80013700;
const { heldPerByte: HELD_PER_BYTE } = BUDGETS.delivery;
const { sentMessageBytes: MESSAGE_BYTES } = BUDGETS.weights;
/** The memory of a property: a name and a value. */
const PROPERTY_BYTES = 2 * BUDGETS.weights.valueBytes;

/**
 * Decodes the messages of one delivery, several if `format` is a batch. `hold` holds the memory of decoded
 * messages in addition to their bytes. Throws ArgumentError for invalid messages, MessageSizeExceeded for too
 * many messages or as `readBody` does, and what `hold` throws.
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
 * Decodes messages of one request, each encoded by itself. `before` resolves when that many more bytes may be
 * decoded; `hold` holds all memory of the decoded messages. Throws ArgumentError for invalid messages,
 * MessageSizeExceeded for more messages than a batch may have, and what `before` and `hold` throw.
 */
export async function readMessages(
  encoded: readonly Uint8Array[],
  before: (bytes: number) => Promise<void> | undefined = () => undefined,
  hold: HoldBytes = () => {},
): Promise<readonly OutgoingMessage[]> {
  requireBatchFits(encoded.length);
  const messages: OutgoingMessage[] = [];
  const bytesOfAll = encoded.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const account = decodedAccount(bytesOfAll, hold);
  let valuesBefore = 0;
  for (const bytes of encoded) {
    await before(bytes.byteLength);
    hold(bytes.byteLength * HELD_PER_BYTE);
    const delivery = { valuesBefore, bytesOfAll };
    const [message, values] = withArgumentErrors(() => readOne(bytes, delivery, account));
    valuesBefore = values;
    messages.push(message);
  }
  return messages;
}

function bytesOf(section: AmqpValue): Uint8Array {
  if (codeOf(section) !== SECTION.data || section.type !== 'described') {
    throw new DecodeError('a batch has a section that is not data');
  }
  if (section.value.type !== 'binary') throw new DecodeError('a data section holds bytes');
  return section.value.value;
}

/** Totals of the delivery that contains a message: values decoded before it, and bytes of all messages. */
interface DeliveryTotals {
  readonly valuesBefore: number;
  readonly bytesOfAll: number;
}

function readEach(
  encoded: readonly Uint8Array[],
  { valuesBefore, bytesOfAll }: DeliveryTotals,
  hold: HoldBytes,
): OutgoingMessage[] {
  const account = decodedAccount(bytesOfAll, hold);
  let values = valuesBefore;
  return encoded.map((bytes) => {
    const [message, valuesThen] = readOne(bytes, { valuesBefore: values, bytesOfAll }, account);
    values = valuesThen;
    return message;
  });
}

/** Decodes one message; also returns the number of values decoded so far. */
function readOne(
  bytes: Uint8Array,
  delivery: DeliveryTotals,
  account: DecodedAccount,
): readonly [OutgoingMessage, number] {
  const { hold } = account;
  hold(MESSAGE_BYTES);
  const sections = readSections(bytes, delivery);
  const message = toMessage(sections, account);
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

/**
 * Converts the decoded sections of a message. `account` counts what is made of them. Throws DecodeError, and as
 * `account` does.
 */
export function toMessage(sections: Sections, account: DecodedAccount): OutgoingMessage {
  const header = new ListFields(sections.header ?? EMPTY_LIST);
  const properties = new ListFields(sections.properties ?? EMPTY_LIST);
  const annotations = fieldsOf(sections.annotations);
  const { applicationProperties } = sections;
  if (applicationProperties?.type === 'map')
    requirePropertyCount(applicationProperties.value.length);
  const { properties: application, others } = toProperties(applicationProperties);
  const { body, form } = readBody(sections.body, account);
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
      messageId: readId(properties.at(PROPERTY.messageId)) || undefined,
      correlationId: readId(properties.at(PROPERTY.correlationId)),
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

/** A section without fields. */
export const EMPTY_LIST: AmqpValue = {
  type: 'described',
  descriptor: { type: 'null' },
  value: { type: 'list', value: [] },
};

/** Throws DecodeError for an id that is no single value: no client sends one, and its text could have any length. */
function readId(value: AmqpValue | undefined): string | undefined {
  if (value !== undefined && NO_IDS.has(value.type)) {
    throw new DecodeError('an id of a message is a text, a number, a uuid or a binary');
  }
  return idText(value);
}

const NO_IDS: ReadonlySet<AmqpValue['type']> = new Set(['list', 'map', 'array', 'described']);

/** Returns epoch ms. Out-of-range numbers are returned too, so that they are refused and not ignored. */
function instantOf(value: AmqpValue | undefined): number | undefined {
  const ms = bigintOf(value) ?? (value?.type === 'timestamp' ? value.value : undefined);
  return ms === undefined ? undefined : Number(ms);
}

function timeToLive(header: ListFields, properties: ListFields): number | undefined {
  const ms = header.number(HEADER.timeToLive);
  const created = properties.number(PROPERTY.creationTime);
  const expires = properties.number(PROPERTY.absoluteExpiryTime);
  if (ms === undefined) return undefined;
  if (ms < HEADER_TTL_MAX || created === undefined || expires === undefined) return ms;
  return unlimitedAbove(Math.max(ms, expires - created));
}

/** Returns the fields of the properties section that the fields of `Message` do not restore. */
function amqpOnlyProperties(properties: ListFields): readonly (AmqpValue | undefined)[] {
  return Object.values(PROPERTY).map((position) => {
    const value = properties.at(position);
    switch (position) {
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

/** Returns a partition key as text. Some clients send it as a binary. */
function partitionKeyText(value: AmqpValue | undefined): string | undefined {
  return value?.type === 'binary' ? Buffer.from(value.value).toString('utf8') : textOf(value);
}

function senderAnnotations(annotations: AmqpValue | undefined, own: ReadonlySet<string>) {
  if (annotations?.type !== 'map') return [];
  return annotations.value.filter(([key]) => !own.has(textOf(key) ?? ''));
}
