import { EXACT_CONTENT_TYPE } from '../message-formats/exact-type.ts';
import { answer, content, type Fragment, json, type OperationDetails } from './components.ts';

/** The exact format in the document. Examples are in base64, as OpenAPI 3.1 shows bytes. */
function exact(base64: string): Fragment {
  const description =
    'Messages exactly as AMQP 1.0 encodes them: one message of the batch format, whose data sections are the messages. The example is in base64.';
  const schema = { type: 'string', contentEncoding: 'base64', description } as const;
  return content(EXACT_CONTENT_TYPE, schema, [base64]);
}

/** A message whose body is the value 'hello'. */
export const EXACT_SENT = exact('AFN1oAoAU3ehBWhlbGxv');
/** A message with a due time. */
export const EXACT_SCHEDULED = exact(
  'AFN1oFIAU3BFAFNy0QAAACsAAAACoxx4LW9wdC1zY2hlZHVsZWQtZW5xdWV1ZS10aW1lgwAAAdUgMYHiAFNz0AAAAAkAAAABoQNtLTEAU3WgBWxhdGVy',
);
/** A message as a receive that deletes it, or a peek, returns it. */
export const EXACT_UNLOCKED = exact(
  'AFN1oIYAU3DQAAAACQAAAAVAQEBAQwBTctEAAABSAAAABqMVeC1vcHQtc2VxdWVuY2UtbnVtYmVyVQGjE3gtb3B0LWVucXVldWVkLXRpbWWDAAABm8GG3gCjE3gtb3B0LW1lc3NhZ2Utc3RhdGVUAABTc9AAAAAJAAAAAaEDbS0xAFN1oAVoZWxsbw==',
);
/** A message with its lock. */
export const EXACT_LOCKED = exact(
  'AFN1oNIAU3DQAAAACQAAAAVAQEBAQwBTcdEAAAAnAAAAAqMQeC1vcHQtbG9jay10b2tlbpgAAAAAAABAAIAAAAAAAAABAFNy0QAAAG8AAAAIoxV4LW9wdC1zZXF1ZW5jZS1udW1iZXJVAaMTeC1vcHQtZW5xdWV1ZWQtdGltZYMAAAGbwYbeAKMSeC1vcHQtbG9ja2VkLXVudGlsgwAAAZvBh8hgoxN4LW9wdC1tZXNzYWdlLXN0YXRlVAAAU3PQAAAACQAAAAGhA20tMQBTdaAFaGVsbG8=',
);

const facts: OperationDetails = {
  answers: {
    200: answer(
      'The kind of the entity, whether its messages are in sessions, and how large one may be.',
      json('EntityFacts', {
        kind: 'queue',
        requiresSession: false,
        maxMessageSizeInKilobytes: 256,
      }),
    ),
  },
  refusals: [400, 401, 403, 410, 500, 503, 504],
};

/** The details of the operations that describe an entity to senders and receivers, by route name. */
export const FACTS_OPERATIONS = {
  senderFacts: facts,
  receiverFacts: facts,
} as const satisfies Readonly<Record<string, OperationDetails>>;
