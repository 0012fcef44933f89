import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { present } from '../../../shared/domain/present.ts';
import { SECOND_MS } from '../../../shared/domain/units.ts';
import type { Batch, Failure, Reply } from '../../../shared/push/ports.ts';
import { isJsonObject, parseExactJson, plainNumber } from '../../http/format/exact-json.ts';

/** The longest delay that an answer may ask for, s: the longest visibility timeout of SQS. */
export const DELAY_SECONDS_MAX = 43_200;

const { answerBytes: ANSWER_BYTES_MAX } = BUDGETS.push;
/** What is told of a text of the target at most, characters. */
const SHOWN_LENGTH = 64;

type Action = Failure['action'];
type Item = Readonly<Record<string, unknown>>;

/** The answer makes no sense; its message is a sentence. */
class AnswerError extends Error {}

/**
 * Reads the answer of a target. It says as in SQS which messages failed (docs/push/event.md): none unless it is an
 * object with `batchItemFailures`. One that SQS takes for the failure of the whole batch is `failed`. Never throws.
 */
export function readAnswer(bytes: Uint8Array, { messages }: Pick<Batch, 'messages'>): Reply {
  try {
    return { kind: 'answered', failures: failuresIn(parse(bytes), messages) };
  } catch (error) {
    if (error instanceof AnswerError) return { kind: 'failed', error: error.message };
    throw error;
  }
}

function parse(bytes: Uint8Array): unknown {
  if (bytes.length > ANSWER_BYTES_MAX) {
    throw new AnswerError(`The answer is longer than ${ANSWER_BYTES_MAX} bytes.`);
  }
  // Most handlers answer with whatever their last step returns.
  if (!Buffer.from(bytes).includes(FAILURES)) return undefined;
  try {
    return parseExactJson(bytes, 'The answer');
  } catch (error) {
    if (error instanceof BrokerError) throw new AnswerError(error.message);
    throw error;
  }
}

/** The member that names failures. */
const FAILURES = 'batchItemFailures';

function failuresIn(answer: unknown, messages: Batch['messages']): readonly Failure[] {
  if (!isJsonObject(answer)) return [];
  const items = answer[FAILURES] ?? [];
  if (!Array.isArray(items)) throw new AnswerError('batchItemFailures is not a list.');
  const numbers = new Map(
    messages.map(({ sequenceNumber }) => [String(sequenceNumber), sequenceNumber]),
  );
  const failures = new Map<bigint, Failure>();
  for (const item of items) {
    const failure = failureOf(item, numbers);
    const known = failures.get(failure.sequenceNumber);
    if (known !== undefined && !isSameAction(known.action, failure.action)) {
      throw new AnswerError(
        `batchItemFailures names ${failure.sequenceNumber} twice, with different actions.`,
      );
    }
    failures.set(failure.sequenceNumber, failure);
  }
  return [...failures.values()];
}

function failureOf(item: unknown, numbers: ReadonlyMap<string, bigint>): Failure {
  if (!isJsonObject(item)) throw new AnswerError('batchItemFailures holds no object.');
  const identifier = item['itemIdentifier'];
  if (typeof identifier !== 'string' || identifier === '') {
    throw new AnswerError('An item of batchItemFailures has no itemIdentifier.');
  }
  const sequenceNumber = numbers.get(identifier);
  if (sequenceNumber === undefined) {
    throw new AnswerError(
      `The itemIdentifier '${shown(identifier)}' is the messageId of no record of the event.`,
    );
  }
  return { sequenceNumber, action: actionOf(item) };
}

/** The members of an item, each with the action that takes it. */
const ACTION_MEMBERS = {
  delaySeconds: 'abandon',
  reason: 'deadLetter',
  description: 'deadLetter',
} as const;

function actionOf(item: Item): Action {
  const kind = item['action'] ?? 'abandon';
  for (const [member, action] of Object.entries(ACTION_MEMBERS)) {
    if ((item[member] ?? null) !== null && action !== kind) {
      throw new AnswerError(`${member} belongs to the action '${action}' only.`);
    }
  }
  switch (kind) {
    case 'abandon':
      return { kind: 'abandon', ...present({ delayMs: delayOf(item) }) };
    case 'deadLetter': {
      const texts = { reason: textOf(item, 'reason'), description: textOf(item, 'description') };
      return { kind: 'deadLetter', ...present(texts) };
    }
    case 'defer':
      return { kind: 'defer' };
    default:
      throw new AnswerError("action is none of 'abandon', 'deadLetter' and 'defer'.");
  }
}

function delayOf(item: Item): number | undefined {
  const seconds = plainNumber(item['delaySeconds']) ?? undefined;
  if (seconds === undefined) return undefined;
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= DELAY_SECONDS_MAX)) {
    throw new AnswerError(`delaySeconds is no number from 0 to ${DELAY_SECONDS_MAX}.`);
  }
  return Math.round(seconds * SECOND_MS);
}

/** A text of a dead-lettering, cut to the length that it may have: a stack trace is often longer. */
function textOf(item: Item, member: 'reason' | 'description'): string | undefined {
  const text = item[member] ?? undefined;
  if (text === undefined) return undefined;
  if (typeof text !== 'string') throw new AnswerError(`${member} is no text.`);
  // The cut may leave half a surrogate pair, which UTF-8 replaces by one character.
  return Buffer.from(text.slice(0, LIMITS.deadLetterTextLength)).toString();
}

function isSameAction(a: Action, b: Action): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const shown = (text: string): string =>
  text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
