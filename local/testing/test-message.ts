import { TextDecoder } from 'node:util';
import type { ClientMessage } from '../../client/message.ts';
import { present } from '../../shared/domain/present.ts';
import type { TestMessage } from './api.ts';
import { propertyValue } from './property-values.ts';

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** A message in the form of the test API. */
export function toTestMessage(message: ClientMessage): TestMessage {
  const { system, properties } = message;
  const {
    DeadLetterReason: reason,
    DeadLetterErrorDescription: description,
    ...others
  } = properties;
  return {
    body: decodeBody(message.body),
    ...present({
      messageId: system['MessageId'],
      sessionId: system['SessionId'],
      partitionKey: system['PartitionKey'],
      correlationId: system['CorrelationId'],
      subject: system['Label'],
      to: system['To'],
      replyTo: system['ReplyTo'],
      replyToSessionId: system['ReplyToSessionId'],
      contentType: system['ContentType'],
      scheduledEnqueueTime: dateOf(system['ScheduledEnqueueTimeUtc']),
      expiresAt: dateOf(system['ExpiresAtUtc']),
      deadLetterReason: reason,
      deadLetterErrorDescription: description,
      deadLetterSource: system['DeadLetterSource'],
    }),
    applicationProperties: Object.fromEntries(
      Object.entries(others).map(([name, value]) => [name, propertyValue(value)]),
    ),
    sequenceNumber: message.sequenceNumber,
    state: String(system['State']).toLowerCase() as TestMessage['state'],
    deliveryCount: Number(system['DeliveryCount']),
    enqueuedTime: new Date(String(system['EnqueuedTimeUtc'])),
  } as TestMessage;
}

/** As the official client for JavaScript decodes a body: the value of JSON, or else text, or else the bytes. */
function decodeBody(bytes: Uint8Array): unknown {
  try {
    const text = UTF_8.decode(bytes);
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  } catch {
    return Buffer.from(bytes);
  }
}

function dateOf(value: unknown): Date | undefined {
  return typeof value === 'string' ? new Date(value) : undefined;
}
