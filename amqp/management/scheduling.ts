import { BrokerError } from '../../shared/domain/broker-error.ts';
import { readMessage } from '../messages/read-message.ts';
import { type AmqpValue, array, fieldsOf, long, mapOf } from '../wire/value.ts';
import { type Asked, Body } from './operation.ts';

/** Stores messages for later, and answers with the numbers by which they can be cancelled. */
export async function schedule({ context, path, body }: Asked): Promise<AmqpValue> {
  const messages = new Body(body).list('messages').map((entry) => {
    const bytes = fieldsOf(entry).get('message');
    if (bytes?.type !== 'binary') {
      throw new BrokerError('ArgumentError', "The field 'message' is missing, or of a wrong type.");
    }
    return readMessage(bytes.value);
  });
  if (messages.some(({ scheduledEnqueueAt }) => scheduledEnqueueAt === undefined)) {
    throw new BrokerError('ArgumentError', 'A message to be scheduled must say for when.');
  }
  const sent = await context.parts.broker.send(path, messages);
  // One that was due already has a number too, though there is nothing left to cancel.
  const numbers = sent.map(({ sequenceNumber }) => long(sequenceNumber ?? 0n));
  return mapOf({ 'sequence-numbers': array('long', numbers) });
}

export async function cancelScheduled({ context, path, body }: Asked): Promise<AmqpValue> {
  await context.parts.broker.cancelScheduled(path, new Body(body).bigints('sequence-numbers'));
  return mapOf({});
}
