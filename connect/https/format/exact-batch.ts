import { readReceived } from '../../../amqp/messages/read-received.ts';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { binary, described, fieldsOf, textOf } from '../../../amqp/wire/value.ts';
import { DecodeError } from '../../../amqp/wire/wire-error.ts';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';

/** Messages in the exact format of the HTTP interface, docs/http/exact-messages.md. */

export const EXACT_TYPE = 'application/vnd.dynabus.amqp';
/** Refusals come in JSON. */
export const EXACT_ACCEPT = `${EXACT_TYPE}, application/json;q=0.5`;

/** Puts messages to send together, each as `writeOutgoing` has encoded it. */
export function writeExact(encoded: readonly Uint8Array[]): Buffer {
  return writeSections({ body: encoded.map((bytes) => described(SECTION.data, binary(bytes))) });
}

/** What an answer holds. */
export interface ExactAnswer {
  readonly messages: readonly ReceivedMessage[];
  /** What it says beside the messages, as JSON: the outcomes of settlements, and why there are no messages. */
  readonly settlements: string | undefined;
  readonly error: string | undefined;
}

/** Decodes an answer. Throws Error for bytes that are none: a fault of the service, not of the client. */
export function readExact(bytes: Uint8Array): ExactAnswer {
  try {
    return decoded(bytes);
  } catch (cause) {
    throw new Error('An answer with messages cannot be read.', { cause });
  }
}

function decoded(bytes: Uint8Array): ExactAnswer {
  const { body, applicationProperties } = readSections(bytes);
  const texts = fieldsOf(applicationProperties);
  const messages = body.map((section) => {
    const { value } = section.type === 'described' ? section : { value: undefined };
    if (value?.type !== 'binary') throw new DecodeError('an answer holds something but messages');
    return readReceived(value.value);
  });
  return {
    messages,
    settlements: textOf(texts.get('settlements')),
    error: textOf(texts.get('error')),
  };
}
