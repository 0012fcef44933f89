import { createHash } from 'node:crypto';
import { pathOf } from '../../../shared/domain/entities/entity-path.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import type { Batch } from '../../../shared/push/ports.ts';
import { printableBody } from '../../http/format/batch-format.ts';
import { printBrokerProperties } from '../../http/format/broker-properties.ts';
import { printProperties } from '../../http/format/print-properties.ts';
import { HOPS_PROPERTY, hopsOf } from './hops.ts';
import {
  type MessageAttributes,
  md5OfMessageAttributes,
  messageAttributes,
} from './message-attributes.ts';

/** The event of a call: that of SQS, so that a handler of SQS takes it. */
export interface PushedEvent {
  readonly Records: PushedRecord[];
}

/** One message of an event: a record of SQS, with two members of our own (docs/push/event.md). */
export interface PushedRecord extends SqsMembers {
  /** The message as it is received over HTTP, with all fields and the types of its properties. */
  readonly serviceBus: {
    readonly brokerProperties: Readonly<Record<string, unknown>>;
    readonly properties: Readonly<Record<string, unknown>>;
  };
}

interface SqsMembers {
  /** The sequence number, unique in the event, by which an answer names the message. */
  readonly messageId: string;
  /** The lock token. */
  readonly receiptHandle: string;
  readonly body: string;
  /** Present where `body` is base64. */
  readonly isBase64Encoded?: true;
  readonly attributes: SystemAttributes;
  readonly messageAttributes: MessageAttributes;
  readonly md5OfMessageAttributes: string;
  readonly md5OfBody: string;
  readonly eventSource: 'aws:sqs';
  readonly eventSourceARN: string;
  readonly awsRegion: string;
}

/** The attributes that SQS itself gives a message. */
interface SystemAttributes {
  readonly ApproximateReceiveCount: string;
  readonly SentTimestamp: string;
  readonly SenderId: string;
  readonly ApproximateFirstReceiveTimestamp: string;
  readonly SequenceNumber: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

/** Where a namespace is, as its events say. */
export interface EventOrigin {
  readonly region: string;
  /** The number of the AWS account. */
  readonly account: string;
}

/** What events say beside their messages. */
export interface EventFacts extends EventOrigin {
  /** Epoch ms of the call. */
  readonly now: number;
}

/** Senders prove a right, not who they are, so all have the same id. */
const SENDER_ID = 'dynabus';

/** Prints one message as a record of an event. */
export function printRecord(batch: Batch, stored: LockedMessage, facts: EventFacts): string {
  const { message } = stored;
  const { text: body, isBase64 } = printableBody(message);
  const attributes = messageAttributes(message);
  const members: SqsMembers = {
    messageId: String(stored.sequenceNumber),
    receiptHandle: stored.lockToken,
    body,
    ...(isBase64 ? { isBase64Encoded: true } : {}),
    attributes: systemAttributes(batch, stored, facts),
    messageAttributes: attributes,
    md5OfMessageAttributes: md5OfMessageAttributes(attributes),
    md5OfBody: createHash('md5').update(body).digest('hex'),
    eventSource: 'aws:sqs',
    eventSourceARN: arnOf(batch, facts),
    awsRegion: facts.region,
  };
  const serviceBus = `"serviceBus":{"brokerProperties":${brokerProperties(stored)},"properties":${properties(stored)}}`;
  return `${JSON.stringify(members).slice(0, -1)},${serviceBus}}`;
}

function systemAttributes(
  { entity: { description }, sessionId }: Batch,
  stored: LockedMessage,
  { now }: EventFacts,
): SystemAttributes {
  const detectsDuplicates = description.kind === 'queue' && description.requiresDuplicateDetection;
  return {
    ApproximateReceiveCount: String(stored.failedDeliveries + 1),
    SentTimestamp: String(stored.enqueuedAt),
    SenderId: SENDER_ID,
    // The first delivery is not recorded, so this is the present one.
    ApproximateFirstReceiveTimestamp: String(now),
    SequenceNumber: String(stored.sequenceNumber),
    ...(sessionId === undefined ? {} : { MessageGroupId: sessionId }),
    ...(detectsDuplicates ? { MessageDeduplicationId: stored.message.messageId } : {}),
  };
}

function arnOf({ entity, consumer }: Batch, { region, account }: EventOrigin): string {
  return `arn:aws:dynabus:${region}:${account}:${pathOf(entity.name, consumer.subQueue)}`;
}

function brokerProperties(stored: LockedMessage): string {
  return printBrokerProperties(stored, { view: 'received', contentType: true, expiresAt: true });
}

function properties({ message }: LockedMessage): string {
  const hops = { type: 'int', value: hopsOf(message) + 1 } as const;
  return printProperties({ ...message.properties, [HOPS_PROPERTY]: hops });
}
