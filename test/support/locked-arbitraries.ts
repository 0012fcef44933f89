import fc from 'fast-check';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { LockedMessage, Message } from '../../shared/domain/messages/message.ts';
import { properties, wholeText } from './message-arbitraries.ts';

const anyText = fc.oneof(wholeText, fc.string({ unit: 'grapheme', maxLength: 200 }));
/** Any UTF-16 text, since an action of a rule may cut a surrogate pair. */
const unevenText = fc.oneof(anyText, fc.constantFrom('\ud800', 'a\udc00b', '\ud83d\ude00\ud83d'));
const anyBody = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  anyText.map((text) => new TextEncoder().encode(text)),
  fc
    .string({ unit: fc.constantFrom('"', '\\', '\0', '\n', 'x', '\x7f'), maxLength: 300 })
    .map((text) => new TextEncoder().encode(text)),
);
const instant = fc.integer({ min: -8.64e15, max: 8.64e15 });

/** Any message, also with what no client can send. */
export const anyMessage: fc.Arbitrary<Message> = fc.record(
  {
    body: anyBody,
    messageId: unevenText,
    properties,
    contentType: unevenText,
    correlationId: unevenText,
    deadLetterSource: unevenText,
    enqueuedSequenceNumber: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    forcePersistence: fc.boolean(),
    label: unevenText,
    partitionKey: unevenText,
    replyTo: unevenText,
    replyToSessionId: unevenText,
    scheduledEnqueueAt: instant,
    sessionId: unevenText,
    timeToLiveMs: fc.double({ min: 0, noNaN: true }),
    to: unevenText,
    viaPartitionKey: unevenText,
  },
  { requiredKeys: ['body', 'messageId', 'properties'] },
);

/** Any locked message, also with what no client can send. */
export const lockedMessage: fc.Arbitrary<LockedMessage> = fc.record(
  {
    message: anyMessage,
    sequenceNumber: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    enqueuedAt: instant,
    failedDeliveries: fc.integer({ min: 0, max: LIMITS.maxDeliveryCountMax }),
    state: fc.constantFrom('Active', 'Deferred', 'Scheduled'),
    expiresAt: instant,
    timeToLiveMs: fc.double({ min: 0, noNaN: true }),
    lockToken: fc.uuid(),
    lockedUntil: instant,
  },
  {
    requiredKeys: [
      'message',
      'sequenceNumber',
      'enqueuedAt',
      'failedDeliveries',
      'state',
      'lockToken',
      'lockedUntil',
    ],
  },
);
