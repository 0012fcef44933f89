import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { groupedClaim } from '../../shared/broker/group-commit/claims.ts';
import type { ClaimRequest, MessageStore } from '../../shared/broker/ports/messages.ts';
import { formatLockToken } from '../../shared/domain/blocks/lock-token.ts';
import type { Log } from '../../shared/domain/blocks/log.ts';
import { serviceBusy } from '../../shared/domain/broker-error.ts';
import { resultOf } from '../../shared/domain/result-of.ts';
import { ManualScheduler } from './manual-scheduler.ts';

const LOG: Log = {
  entityId: 'q',
  headerEntityId: 'q',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};

/** A block of messages, as the store offers it to an allowance. */
interface FakeBlock {
  readonly numbers: readonly number[];
  readonly bytes?: number;
  readonly answerBytes?: number;
  /** Its claim fails; of several blocks, only if all do. */
  readonly fails?: true;
  /** Its outcome is known when this ends. */
  readonly until?: Promise<void>;
  /** Another process takes its messages first, so the claim chooses again, in the next look. */
  readonly isLost?: true;
}

function message(number: number, mode: ClaimRequest['mode']): ReceivedMessage {
  const token = formatLockToken({
    section: 'live',
    partition: 0,
    block: BigInt(number),
    slot: 0,
    liveSlots: 1,
    tag: new Uint8Array(7),
  });
  const lock = mode === 'peekLock' ? { lockToken: token, lockedUntil: 1 } : {};
  return { sequenceNumber: BigInt(number), ...lock } as ReceivedMessage;
}

/** What a claim is to take of a block. */
interface Taken extends FakeBlock {
  readonly numbers: readonly number[];
}

/** Takes messages of blocks as the request's allowance says. */
function allowedOf(look: readonly FakeBlock[], request: ClaimRequest): readonly Taken[] {
  const taken: Taken[] = [];
  let left = request.maxMessages;
  for (const block of look) {
    const size = sizeOf(block);
    const chosen = block.numbers.slice(0, left);
    if (chosen.length === 0) break;
    const allowed =
      request.allowance?.take(chosen.length, size, block.answerBytes ?? size) ?? chosen.length;
    if (allowed === 0) continue;
    left -= allowed;
    taken.push({ ...block, numbers: chosen.slice(0, allowed) });
  }
  return taken;
}

function sizeOf({ bytes, numbers }: FakeBlock): number {
  return bytes ?? 100 * numbers.length;
}

/** Claims messages of blocks, as the store does. */
async function takeFrom(
  look: readonly FakeBlock[],
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[]> {
  const taken = allowedOf(look, request);
  const bytes = taken.reduce((sum, block) => sum + sizeOf(block), 0);
  const count = taken.reduce((sum, { numbers }) => sum + numbers.length, 0);
  const got: ReceivedMessage[] = [];
  try {
    const [first] = taken;
    if (first !== undefined) request.payloads?.hold(bytes, BigInt(first.numbers[0] ?? 0));
    await Promise.all(
      taken.map(async ({ numbers, fails, isLost, until }, index) => {
        const wanted = numbers.slice(0, request.group?.wanted(index));
        await until;
        const messages = wanted.map((number) => message(number, request.mode));
        const isGot = fails !== true && isLost !== true;
        if (isGot) got.push(...messages);
        const error = serviceBusy('The database is busy.');
        request.group?.onBlock(index, fails ? { error } : { value: isGot ? messages : [] });
      }),
    );
    if (got.length === 0 && taken.some(({ fails }) => fails)) {
      throw serviceBusy('The database is busy.');
    }
  } finally {
    const unused = got.length > 0 ? 0 : bytes;
    request.allowance?.giveBack(count - got.length, unused, unused);
  }
  return got;
}

/**
 * A store whose claims find the blocks of one entry of `looks` after the other. Claims wait until `letGo`, and then for
 * their turn if they found anything.
 */
export function startClaims(
  looks: readonly (readonly FakeBlock[] | Error)[],
  unlocked: Promise<void> = Promise.resolve(),
) {
  const scheduler = new ManualScheduler();
  const settled: unknown[] = [];
  const claims: ClaimRequest[] = [];
  let letGo = () => {};
  const begun = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let looked = 0;
  const claim: MessageStore['claim'] = async (_, request) => {
    claims.push(request);
    for (let choices = 0; ; choices++) {
      const look = looks[looked++] ?? [];
      await begun;
      if (look instanceof Error) throw look;
      if (look.length > 0 && choices === 0) await request.waitForTurn?.();
      if (request.isWanted?.() === false) return [];
      const got = await takeFrom(look, request);
      if (got.length === 0 && look.some(({ isLost }) => isLost)) continue;
      await scheduler.settled();
      return got;
    }
  };
  const settle: MessageStore['settle'] = async (_, settlements) => {
    settled.push(...settlements.map(({ token, action }) => [Number(token.block), action]));
    await unlocked;
  };
  const grouped = groupedClaim({
    messages: { claim, settle },
    scheduler,
    background: (work) => void work(),
  });
  const ask = async (changes: Partial<ClaimRequest> = {}) => {
    const request: ClaimRequest = {
      rules: { epoch: 1, isDeadLetter: false, maxDeliveryCount: 10 },
      onExpiry: 'drop',
      deadLetterLog: LOG,
      mode: 'peekLock',
      maxMessages: 1,
      maxBytes: 1_000_000,
      lockMs: 1000,
      ...changes,
    };
    const result = await resultOf(grouped(LOG, request));
    return 'error' in result
      ? String(result.error)
      : result.value.map(({ sequenceNumber }) => Number(sequenceNumber));
  };
  return { ask, letGo, scheduler, settled, claims };
}

/** What a receive asks for; absent = one message under a lock. */
export type Ask = Partial<ClaimRequest>;

/** Several receives ask at the same time. */
export async function askTogether(
  looks: Parameters<typeof startClaims>[0],
  asks: readonly Ask[],
  meanwhile: () => void = () => {},
) {
  const { ask, letGo, scheduler, settled, claims } = startClaims(looks);
  const answers = asks.map((one) => ask(one));
  await scheduler.settled();
  meanwhile();
  letGo();
  return { got: await Promise.all(answers), settled, claims };
}
