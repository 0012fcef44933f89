import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { messageSize } from '../../../shared/domain/messages/outgoing-rules.ts';
import type { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { BATCH_CONTENT_TYPE, printBatch } from '../format/batch-format.ts';
import { writeExactBatch } from './exact-batch.ts';
import { acceptsExact, EXACT_CONTENT_TYPE } from './exact-type.ts';

/** Counted for each message in addition to its size, bytes. */
const { turnMessageBytes: MESSAGE_BYTES } = BUDGETS.connection;

/** The body of an answer and its headers. */
export interface PrintedAnswer {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** What an answer says beside its messages: the outcomes of settlements, and why there are no messages, as JSON. */
export interface AnswerTexts {
  readonly settlements: string;
  readonly error?: string;
}

/** The request of an answer, and the turns of the event loop in which a long answer is printed. */
export interface Printing {
  readonly workTurns: Pick<WorkTurns, 'next'>;
  readonly request: Request;
}

/** A format of several messages in an answer; the client chooses it by `Accept`. */
export interface AnswerFormat {
  /** The form in which a receive bounds the messages of an answer. */
  readonly form: 'batch' | 'amqp';
  /** Prints messages. */
  print(
    messages: readonly ReceivedMessage[],
    view: 'received' | 'peeked',
    printing: Printing,
  ): Promise<PrintedAnswer>;
  /** Prints messages together with the outcomes of settlements. */
  printWith(
    texts: AnswerTexts,
    messages: readonly ReceivedMessage[],
    printing: Printing,
  ): Promise<PrintedAnswer>;
}

const JSON_FORMAT: AnswerFormat = {
  form: 'batch',
  async print(messages, view, { workTurns }) {
    const body = await printInTurn(messages, view, workTurns);
    return { body, headers: { 'Content-Type': BATCH_CONTENT_TYPE } };
  },
  async printWith({ settlements, error }, messages, { workTurns }) {
    const batch = await printInTurn(messages, 'received', workTurns);
    const refusal = error === undefined ? '' : `,"error":${error}`;
    const body = `{"settlements":${settlements},"messages":${batch}${refusal}}`;
    return { body, headers: { 'Content-Type': 'application/json' } };
  },
};

const EXACT_FORMAT: AnswerFormat = {
  form: 'amqp',
  async print(messages, _view, printing) {
    return await printExact(messages, {}, printing);
  },
  async printWith(texts, messages, printing) {
    return await printExact(messages, { ...texts }, printing);
  },
};

/** The format of the messages in the answer to a request. */
export function answerFormatOf(request: Request): AnswerFormat {
  return acceptsExact(request) ? EXACT_FORMAT : JSON_FORMAT;
}

/** Prints a batch; a long one in a turn of the event loop, since many together would stall the process. */
async function printInTurn(
  messages: readonly ReceivedMessage[],
  view: 'received' | 'peeked',
  workTurns: Printing['workTurns'],
): Promise<string> {
  const bytes = messages.reduce(
    (sum, { message }) => sum + MESSAGE_BYTES + messageSize(message),
    0,
  );
  if (bytes > BUDGETS.delivery.turnBytes) await workTurns.next();
  return printBatch(messages, view);
}

async function printExact(
  messages: readonly ReceivedMessage[],
  texts: Readonly<Record<string, string>>,
  { workTurns, request }: Printing,
): Promise<PrintedAnswer> {
  const bytes = await writeExactBatch(messages, texts, workTurns, request);
  // The same address has another answer for clients that name no such type.
  const headers = { 'Content-Type': EXACT_CONTENT_TYPE, Vary: 'Accept' };
  return { body: new Uint8Array(bytes), headers };
}
