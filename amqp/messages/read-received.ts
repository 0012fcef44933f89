import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import type { MessageState } from '../../shared/domain/messages/message.ts';
import { present } from '../../shared/domain/present.ts';
import { ListFields } from '../wire/fields.ts';
import { type AmqpValue, bigintOf, fieldsOf, numberOf, textOf } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';
import { ANNOTATION, HEADER, LOCK_TOKEN } from './annotations.ts';
import { decodedAccount } from './bodies.ts';
import { guidText } from './property-values.ts';
import { EMPTY_LIST, toMessage } from './read-message.ts';
import { readSections } from './sections.ts';

/** In the order of their numbers. */
const STATES: readonly MessageState[] = ['Active', 'Deferred', 'Scheduled'];

/** Decodes what `writeMessage` has encoded, so that encoding it again gives the same bytes. Throws DecodeError. */
export function readReceived(bytes: Uint8Array): ReceivedMessage {
  const sections = readSections(bytes);
  const { messageId = '', ...sent } = toMessage(
    sections,
    decodedAccount(bytes.byteLength, () => {}),
  );
  const annotations = fieldsOf(sections.annotations);
  const at = (name: keyof typeof ANNOTATION) => annotations.get(ANNOTATION[name]);
  const failedDeliveries = new ListFields(sections.header ?? EMPTY_LIST).number(
    HEADER.deliveryCount,
  );
  const stored = {
    message: {
      ...sent,
      messageId,
      ...present({
        enqueuedSequenceNumber: bigintOf(at('enqueuedSequenceNumber')),
        deadLetterSource: textOf(at('deadLetterSource')),
      }),
    },
    sequenceNumber: required(bigintOf(at('sequenceNumber'))),
    enqueuedAt: required(numberOf(at('enqueuedTime'))),
    failedDeliveries: failedDeliveries ?? 0,
    state: required(STATES[numberOf(at('messageState')) ?? 0]),
    ...present({ timeToLiveMs: sent.timeToLiveMs }),
  };
  const lockToken = lockTokenOf(sections.deliveryAnnotations);
  if (lockToken === undefined) return stored;
  return { ...stored, lockToken, lockedUntil: required(numberOf(at('lockedUntil'))) };
}

function lockTokenOf(annotations: AmqpValue | undefined): string | undefined {
  const value = fieldsOf(annotations).get(LOCK_TOKEN);
  return value?.type === 'uuid' ? guidText(value.value) : undefined;
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new DecodeError('a received message lacks what the broker adds');
  return value;
}
