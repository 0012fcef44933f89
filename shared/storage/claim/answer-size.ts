import type { ClaimRequest } from '../../broker/ports/messages.ts';
import { type Block, sequenceNumberOf } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { type BrokerError, messageSizeExceeded } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { AnswerLimit } from '../../domain/messages/answer-limit.ts';
import {
  encodedPropertiesSize,
  encodedSize,
  encodedSizeBound,
  textSize,
} from '../../domain/messages/encoded-size.ts';
import type { Message } from '../../domain/messages/message.ts';
import { headerSize } from '../../domain/messages/outgoing-rules.ts';
import {
  base64Size,
  headerFormSize,
  printedPropertiesSize,
  printedSize,
  printedSizeBound,
  quotedSize,
} from '../../domain/messages/printed-size.ts';
import { decodeOverlay, loadMessages } from '../blocks/payloads.ts';
import { printedBytesOf } from '../blocks/printed-bytes.ts';
import type { StoreContext } from '../store-context.ts';
import type { Target } from './choice.ts';

/**
 * Bounds a receive by what its answer can carry, before it claims anything: a claimed message that does not fit
 * would stay locked or be lost. Each block stores an upper bound of what its messages take in an answer
 * (`printedBytesOf`), so payloads are read only if the first block alone may be too much.
 */

/**
 * What the headers of a single message may take in addition to its size. Lambda's result holds the body as
 * base64 and the headers as JSON, in which a property of 64 KB takes 960 KB at most: 4/3 × 3.75 MB
 * and 960 KB are 6,225,920 of the 6,291,556 bytes that Lambda takes.
 */
const HEADERS_BYTES = 256 * 1024;
/** What a single message takes in the batch format, in addition to its body as base64. */
const LISTED_BYTES = printedSizeBound(LIMITS.propertiesBytes, 1);
/**
 * Other headers of an answer: the address of the lock, which names host, entity and session, and the headers that
 * API Gateway adds.
 */
const OTHER_HEADERS_BYTES = 2560;
/** A payload of more items holds a single message of more than 9 MB, which fits in no answer. */
const MEASURED_PARTS_MAX = 24;

/** A target with its size in the answer. */
export interface SizedTarget extends Target {
  /** Upper bound of the bytes that its messages take in the answer. */
  readonly answerBytes: number;
}

interface Claiming {
  readonly context: StoreContext;
  readonly log: Log;
  readonly request: Pick<ClaimRequest, 'answer'>;
}

/**
 * Cuts the chosen messages to what the answer can carry, lowest sequence numbers first. Reads nothing, except the
 * payload of the first block if that block alone may be too much. Throws MessageSizeExceeded if the first message
 * fits in no answer of this form and may not exceed it.
 */
export async function answerable(
  claiming: Claiming,
  targets: readonly Target[],
): Promise<readonly SizedTarget[]> {
  const { answer } = claiming.request;
  if (answer === undefined) return targets.map((target) => ({ ...target, answerBytes: 0 }));
  const chosen = targets
    .flatMap((target) =>
      target.slots.map((slot) => ({
        target,
        slot,
        sequence: target.block.sequence + BigInt(slot),
      })),
    )
    .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
  const taken = new Map<Target, TakenTarget>();
  let left = answer.bytes;
  for (const { target, slot } of chosen) {
    const known = taken.get(target);
    const entry = known ?? { slots: [], slotBytes: slotSize(target.block, answer), answerBytes: 0 };
    const bytes = entry.slotBytes + (known ? 0 : payloadSize(target.block, answer));
    if (bytes > left) break;
    left -= bytes;
    entry.slots.push(slot);
    entry.answerBytes += bytes;
    taken.set(target, entry);
  }
  const [first] = chosen;
  if (first !== undefined && taken.size === 0) {
    const leading = chosen.findIndex(({ target }) => target !== first.target);
    const slots = chosen.slice(0, leading < 0 ? chosen.length : leading).map(({ slot }) => slot);
    return [await measured(claiming, { ...first.target, slots }, answer)];
  }
  return Array.from(taken, ([target, { slots, answerBytes }]) => ({
    ...target,
    slots,
    answerBytes,
  }));
}

interface TakenTarget {
  readonly slots: number[];
  /** Bytes that the overlay of the block adds to each message. */
  readonly slotBytes: number;
  answerBytes: number;
}

/** Upper bound of the bytes that the messages of a block take, whichever of them are claimed. */
function payloadSize(block: Block, { form, headerBytes }: AnswerLimit): number {
  if (form === 'batch') return printedBytesOf(block);
  const { bytes } = block.payload;
  if (form === 'amqp') return encodedSizeBound(bytes, block.slots.size, printedBytesOf(block));
  const listed = headerBytes === undefined ? 0 : LISTED_BYTES + base64Size(bytes);
  return Math.max(HEADERS_BYTES + bytes, listed);
}

/** Bytes that the overlay of a block adds to each message. */
function slotSize({ payload: { overlay } }: Block, { form }: AnswerLimit): number {
  if (overlay === undefined) return 0;
  if (form === 'single') return overlay.byteLength;
  const { properties, deadLetterSource = '' } = decodeOverlay(overlay);
  if (form === 'amqp') return encodedPropertiesSize(properties) + textSize(deadLetterSource);
  return printedPropertiesSize(properties) + quotedSize(deadLetterSource);
}

/**
 * As many messages of one block as fit, by their real sizes. The sum counts the largest messages of the block, since
 * a claim that loses a race takes other messages of it. Reads the payload.
 */
async function measured(
  { context, log }: Claiming,
  target: Target,
  answer: AnswerLimit,
): Promise<SizedTarget> {
  const { block, slots } = target;
  const { parts, bytes } = block.payload;
  const [first = 0] = slots;
  const alone = { ...target, slots: [first], answerBytes: payloadSize(block, answer) };
  if (answer.oneMayExceed && (block.slots.size === 1 || parts > MEASURED_PARTS_MAX)) return alone;
  if (parts > MEASURED_PARTS_MAX) throw tooLarge(log, block, first, bytes, answer.bytes);
  const loaded = await loadMessages(context, log, [block]);
  // The block is gone, so the claim will get nothing.
  if (!loaded.has(block)) return { ...target, slots: [first], answerBytes: 0 };
  const sizes = [...block.slots.keys()].map((slot) => sizeIn(answer, loaded.at(block, slot)));
  const message = loaded.at(block, first);
  const firstBytes = sizeIn(answer, message);
  if (firstBytes > answer.bytes) {
    if (answer.oneMayExceed) return alone;
    const fitsAlone = sizeIn({ ...answer, form: 'single' }, message) <= answer.bytes;
    const how = fitsAlone ? 'alone, without maxMessages and settlements, or by AMQP' : 'by AMQP';
    throw tooLarge(log, block, first, firstBytes, answer.bytes, how);
  }
  let answerBytes = 0;
  let count = 0;
  for (const size of sizes.sort((a, b) => b - a).slice(0, slots.length)) {
    if (answerBytes + size > answer.bytes) break;
    answerBytes += size;
    count++;
  }
  if (count === 0) return { ...target, slots: [first], answerBytes: firstBytes };
  return { ...target, slots: slots.slice(0, count), answerBytes };
}

/** Upper bound of the bytes of a message in an answer of this form. */
function sizeIn({ form, headerBytes }: AnswerLimit, message: Message): number {
  if (form === 'batch') return printedSize(message);
  if (form === 'amqp') return encodedSize(message);
  const headers = headerSize(message);
  const single = HEADERS_BYTES + message.body.byteLength + headers;
  const isSurelySingle =
    headerBytes === undefined || OTHER_HEADERS_BYTES + headerFormSize(message) <= headerBytes;
  return isSurelySingle ? single : Math.max(single, printedSize(message));
}

function tooLarge(
  log: Log,
  block: Block,
  slot: number,
  bytes: number,
  bytesMax: number,
  how = 'by AMQP',
): BrokerError {
  const number = sequenceNumberOf(log.partition, block.sequence + BigInt(slot));
  return messageSizeExceeded(
    `The message with sequence number ${number} takes ${bytes} bytes in an answer, which is more than the ${bytesMax} bytes that one can carry. It was not received; receive it ${how}.`,
  );
}

/** Throws MessageSizeExceeded if deferred messages, which are received all or none, do not fit into one answer. */
export function requireAnswerable(
  log: Log,
  messages: readonly { readonly block: Block; readonly message: Message }[],
  answer: AnswerLimit | undefined,
): void {
  if (answer === undefined || (answer.oneMayExceed && messages.length === 1)) return;
  const how = answer.oneMayExceed ? 'alone' : 'by AMQP';
  let total = 0;
  for (const { block, message } of messages) {
    const bytes = sizeIn(answer, message);
    if (bytes > answer.bytes) throw tooLarge(log, block, 0, bytes, answer.bytes, how);
    total += bytes;
  }
  if (total <= answer.bytes) return;
  throw messageSizeExceeded(
    `The ${messages.length} messages take ${total} bytes in an answer, which is more than the ${answer.bytes} bytes that one can carry. None of them was received; name fewer.`,
  );
}
