import type { Call, Caller, HttpAnswer } from '../../../client/call.ts';
import { RefusalError } from '../../../client/client-errors.ts';
import { readMessage } from '../../../client/message.ts';

/** A message of a list, in JSON. */
export function messageText(sequenceNumber: number, reason?: string, more: object = {}): string {
  return JSON.stringify({
    Body: `body ${sequenceNumber}`,
    BrokerProperties: { SequenceNumber: sequenceNumber, State: 'Active', ...more },
    UserProperties: reason === undefined ? {} : { DeadLetterReason: reason },
  });
}

/** Answers as a namespace with one queue, whose messages are a list; it counts the calls. */
export class ListedQueue implements Caller {
  readonly calls: Call[] = [];
  /** Decides which calls fail, and how. */
  fail: (call: Call) => Error | undefined = () => undefined;
  /** Which messages an operation does not change. */
  keeps: (sequenceNumber: bigint) => boolean = () => false;
  messages: readonly string[];
  /** What a sender is told. */
  destination = { kind: 'queue', requiresDuplicateDetection: false };

  constructor(messages: readonly string[]) {
    this.messages = messages;
  }

  async call(call: Call): Promise<HttpAnswer> {
    this.calls.push(call);
    const failure = this.fail(call);
    if (failure !== undefined) throw failure;
    const text = this.#answer(call);
    return { status: 200, header: () => undefined, text, bytes: Buffer.from(text) };
  }

  #answer({ method, path, query = {}, body = '{}' }: Call): string {
    if (path.endsWith('$sender')) return JSON.stringify(this.destination);
    if (method === 'GET') {
      const from = BigInt(query['fromSequenceNumber'] ?? 0);
      const max = Number(query['maxMessages']);
      const after = this.messages.filter((text) => readMessage(text).sequenceNumber >= from);
      return `[${after.slice(0, max).join(',')}]`;
    }
    // What is sent is not listed.
    if (path.endsWith('/messages')) return '';
    const request = JSON.parse(String(body)) as {
      readonly maxMessages?: number;
      readonly sequenceNumbers?: readonly number[];
    };
    const numbers =
      request.sequenceNumbers?.map(BigInt) ??
      this.messages
        .map((text) => readMessage(text).sequenceNumber)
        .filter((one) => !this.keeps(one))
        .slice(0, request.maxMessages);
    const gone = new Set(numbers.filter((one) => this.#has(one) && !this.keeps(one)));
    this.messages = this.messages.filter((text) => !gone.has(readMessage(text).sequenceNumber));
    if (path.endsWith('$resubmit')) return JSON.stringify({ resubmitted: gone.size });
    const outcomes = numbers.map((one) => `{"sequenceNumber":${one},"done":${gone.has(one)}}`);
    return `{"outcomes":[${outcomes.join(',')}]}`;
  }

  #has(sequenceNumber: bigint): boolean {
    return this.messages.some((text) => readMessage(text).sequenceNumber === sequenceNumber);
  }
}

/** A refusal as the service gives it. */
export function refusal(code: string, status = 400): RefusalError {
  return new RefusalError({
    status,
    code,
    message: `Refused: ${code}.`,
    trackingId: 't',
    isRetryable: false,
  });
}
