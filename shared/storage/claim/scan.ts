import { type BlockRules, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { readBlocks, sortKeyOf } from '../blocks/read-blocks.ts';
import { outcomeOf } from '../dynamodb/outcome-of.ts';
import { type FrontMemory, holdsOf } from '../hints/scan-hints.ts';
import { FIRST_BLOCK, logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { Choice, type Scan, type ScanRequest, SPREAD_BLOCKS_MAX } from './choice.ts';

const PAGE_MIN = 4;
const PAGE_MAX = 400;
/** A first page of more blocks than this would read too much where blocks are full. */
const FIRST_PAGE_MAX = 26;
/** Eventually consistent, this many full blocks cost one read unit. */
const LOOK_BLOCKS = 8;

/**
 * Reads a log from its front and chooses what to claim, in order. One query as a rule; more only
 * while nothing was found, or less than asked for. Scans of one log wait for one another: each begins where
 * those before it have left off, instead of reading what they are about to claim.
 */
export async function scan(context: StoreContext, log: Log, request: ScanRequest): Promise<Scan> {
  const { clock, scans } = context;
  const slots = request.maxMessages > FIRST_PAGE_MAX ? scans.large : scans.small;
  return await slots.during(logName(log), () => scanInTurn(context, log, request, clock.now()));
}

async function scanInTurn(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
): Promise<Scan> {
  const { fronts } = context;
  const name = logName(log);
  // In a session the order is strict: what another process put back in front must not be passed over.
  const isStrict = request.rules.session !== undefined;
  const memory = isStrict ? undefined : fronts.recall(name, now, holdsOf(request.rules));
  if (memory === undefined) return await walk(context, log, request, now);

  if (fronts.isFresh(memory)) return await walk(context, log, request, now, memory);
  const [found, looked] = await Promise.all([
    walk(context, log, request, now, memory),
    outcomeOf(lookAgain(context, log, memory, request.rules, now)),
  ]);
  const isOpenInFront = !('value' in looked) || looked.value;
  if (found.targets.length > 0 && !isOpenInFront) return found;
  // Nothing behind, or something in front that another process put back: look at everything from there on.
  for (const { reservation } of found.targets) reservation.release();
  fronts.forget(name);
  return await walk(context, log, request, now);
}

/** Walks from what is remembered on, or from the first block. */
async function walk(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
  memory?: FrontMemory,
): Promise<Scan> {
  const isSpread = request.rules.session === undefined;
  const width = isSpread ? context.spread.widthOf(logName(log)) : 1;
  const choice = new Choice(context, log, { ...request, width }, now);
  let start = memory?.from ?? FIRST_BLOCK;
  const watch = context.fronts.beginScan(logName(log));
  let limit = firstPage(request.maxMessages, width) + watch.others;
  try {
    while (choice.wantsMore) {
      const page = await readBlocks(context, log, { from: start, limit, consistent: true });
      for (const block of page.blocks) choice.consider(block);
      if (page.next === undefined) break;
      start = page.next;
      limit = Math.min(PAGE_MAX, limit * 2);
    }
    return choice.result(memory, watch);
  } finally {
    watch.end();
  }
}

/** Messages may lie alone in their blocks, or by the dozen; some of a spread's places are taken already. */
function firstPage(maxMessages: number, width: number): number {
  const front = Math.max(PAGE_MIN, Math.min(maxMessages + 1, FIRST_PAGE_MAX));
  if (width === 1) return front;
  return Math.max(front, Math.min(maxMessages * width + PAGE_MIN, SPREAD_BLOCKS_MAX));
}

/** The rest of a look that began long ago says little of now: another one then begins at once. */
const PIECES_MAX = 2;

/**
 * Looks at one more piece of what the memory skips. True = something can be had there: another process put
 * it back, or a slow sender's block came late.
 */
async function lookAgain(
  context: StoreContext,
  log: Log,
  memory: FrontMemory,
  rules: BlockRules,
  now: number,
): Promise<boolean> {
  const { fronts } = context;
  const name = logName(log);
  let current: FrontMemory = memory;
  let left = LOOK_BLOCKS;
  for (let pieces = 0; pieces < PIECES_MAX && left > 0; pieces++) {
    const watch = fronts.beginScan(name);
    const { blocks, next } = await readBlocks(context, log, {
      from: current.renewing?.cursor ?? FIRST_BLOCK,
      to: memory.from,
      limit: left,
      consistent: false,
    }).finally(() => watch.end());
    const inFront = blocks.filter((block) => sortKeyOf(block) < memory.from);
    if (inFront.some((block) => surveyBlock(block, rules, now).free.length > 0)) return true;
    fronts.noteLook(name, memory, watch.beganAt, next);
    const noted = fronts.recall(name, now, memory.holds);
    if (next !== undefined || noted === undefined || fronts.isFresh(noted)) return false;
    current = noted;
    left -= blocks.length;
  }
  return false;
}
