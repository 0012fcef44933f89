import {
  type BrokerError,
  messageSizeExceeded,
  noMemoryFor,
} from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { PayloadAccount } from '../../../shared/domain/messages/payload-account.ts';
import type { HttpDependencies } from '../http-dependencies.ts';

/** How messages are read, which decides the memory of a message in its response and how several add up. */
export type ReadKind = 'single' | 'batch' | 'deferred' | 'peek';

/**
 * Runs `answer`, which reads messages and prints a response, and counts the memory of the messages until it
 * ends. From then on the server counts the bytes that the client has not taken yet. `answer` throws
 * ServiceBusy where the process has no memory left, and MessageSizeExceeded where it never has enough.
 */
export async function countPayloads<Result>(
  { memory }: HttpDependencies,
  kind: ReadKind,
  answer: (payloads: PayloadAccount) => Promise<Result>,
): Promise<Result> {
  const { readBytes, heldPerSmallReadByte, heldPerReadByte, heldPerPrintedByte } = BUDGETS.request;
  const perLargeByte = kind === 'single' ? heldPerReadByte : heldPerPrintedByte;
  const share = memory.open(memory.limit, () => {});
  // Pinned: if it were evicted, the client would not receive the messages that it has claimed.
  share.pin();
  const hold = (bytes: number, first: bigint) => {
    // A peek reads several partitions at the same time, so their messages add up. A receive that fails to
    // claim messages may read others, whose memory replaces that of the ones before.
    const weight = bytes > readBytes ? perLargeByte : heldPerSmallReadByte;
    const more = bytes * weight - (kind === 'peek' ? 0 : share.held);
    if (more <= 0 || share.hold(more)) return;
    throw share.held + more > memory.limit
      ? neverFits(bytes, first, kind)
      : noMemoryFor('messages');
  };
  try {
    return await answer({ hold });
  } finally {
    share.close();
  }
}

function neverFits(bytes: number, first: bigint, kind: ReadKind): BrokerError {
  const messages =
    kind === 'single'
      ? `The message with sequence number ${first} takes`
      : `The messages from sequence number ${first} on take`;
  return messageSizeExceeded(
    `${messages} ${bytes} bytes, which the service has no memory for in such an answer. ${adviceFor(first, kind)} or give the service more memory.`,
  );
}

function adviceFor(first: bigint, kind: ReadKind): string {
  switch (kind) {
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
