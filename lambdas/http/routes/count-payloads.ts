import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { PayloadAccount } from '../../../shared/domain/messages/payload-account.ts';
import type { HttpDependencies } from '../http-dependencies.ts';

/** How messages are read: what one message takes in its answer, and how several are counted. */
export type Reading = 'single' | 'batch' | 'deferred' | 'peek';

/**
 * Has an answer made, and counts what its messages take until it is. Of what goes out then, the
 * server counts what its client does not take.
 */
export async function countPayloads<Result>(
  { memory }: HttpDependencies,
  reading: Reading,
  answer: (payloads: PayloadAccount) => Promise<Result>,
): Promise<Result> {
  const { readBytes, heldPerSmallReadByte, heldPerReadByte, heldPerPrintedByte } = BUDGETS.request;
  const perLargeByte = reading === 'single' ? heldPerReadByte : heldPerPrintedByte;
  const share = memory.open(memory.limit, () => {});
  // What was claimed for it would be lost.
  share.pin();
  const hold = (bytes: number, first: bigint) => {
    // Partitions are peeked at together. A look in vain for messages to be received may be followed by
    // another one, whose messages take the place of those before.
    const weight = bytes > readBytes ? perLargeByte : heldPerSmallReadByte;
    const more = bytes * weight - (reading === 'peek' ? 0 : share.held);
    if (more <= 0 || share.hold(more)) return;
    throw share.held + more > memory.limit ? neverFits(bytes, first, reading) : busy();
  };
  try {
    return await answer({ hold });
  } finally {
    share.close();
  }
}

function neverFits(bytes: number, first: bigint, reading: Reading): BrokerError {
  const messages =
    reading === 'single'
      ? `The message with sequence number ${first} takes`
      : `The messages from sequence number ${first} on take`;
  return new BrokerError(
    'MessageSizeExceeded',
    `${messages} ${bytes} bytes, which the service has no memory for in such an answer. ${adviceFor(first, reading)} or give the service more memory.`,
  );
}

function adviceFor(first: bigint, reading: Reading): string {
  switch (reading) {
    case 'single':
      return 'Receive it by AMQP,';
    case 'batch':
      return 'Receive them one by one, without maxMessages, or by AMQP,';
    case 'deferred':
      return 'Name fewer messages, or receive them by AMQP,';
    case 'peek':
      return `Peek with maxMessages=1 or by AMQP, go on with fromSequenceNumber=${first + 1n},`;
  }
}

function busy(): BrokerError {
  return new BrokerError(
    'ServiceBusy',
    'The service is busy with as many messages as it has memory for. Wait a moment and try again.',
  );
}
