import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { WritingTurns } from '../messages/writing-turns.ts';
import type { ClientContext } from '../service/context.ts';
import type { AmqpValue } from '../wire/value.ts';

/** Encodes the messages of a reply in turns, so that large replies do not delay other work. */
export async function writeEach<Message extends ReceivedMessage>(
  context: Pick<ClientContext, 'dependencies'>,
  messages: readonly Message[],
  write: (message: Message) => AmqpValue,
): Promise<readonly AmqpValue[]> {
  const turns = new WritingTurns(context.dependencies.workTurns, context);
  const entries: AmqpValue[] = [];
  for (const message of messages) {
    await turns.before(message);
    entries.push(write(message));
  }
  return entries;
}
