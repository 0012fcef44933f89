import { type Block, type BlockRules, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { resultOf } from '../../domain/result-of.ts';
import { readBlocks, sortKeyOf } from '../blocks/read-blocks.ts';
import { lockScopeOf, type ScanHint } from '../hints/scan-hints.ts';
import { FIRST_BLOCK, logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { Choice, type Scan, type ScanRequest, SPREAD_BLOCKS_MAX } from './choice.ts';

const PAGE_MIN = 4;
const PAGE_MAX = 400;
/** More blocks than this in the first page would read too much if all of them are full. */
const FIRST_PAGE_MAX = 26;
/** This many full blocks cost one read unit, eventually consistent. */
const RECHECK_BLOCKS = 8;

/**
 * Reads a log from its front and chooses the messages to claim, in order. Usually one strongly consistent query;
 * more while it has found fewer messages than asked for. Scans of one log by one process wait for each other, so
 * that each starts after the messages that the ones before it are about to claim.
 */
export async function scan(context: StoreContext, log: Log, request: ScanRequest): Promise<Scan> {
  const { clock, scans } = context;
  // Those for several receivers follow each other already, unless one is stuck.
  const isLarge = request.maxMessages > FIRST_PAGE_MAX && request.group === undefined;
  const limiter = isLarge ? scans.large : scans.small;
  return await limiter.during(logName(log), () => scanOnce(context, log, request, clock.now()));
}

async function scanOnce(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
): Promise<Scan> {
  const { scanHints } = context;
  const name = logName(log);
  // A session is received in strict order, so a message that another process put back must not be skipped.
  const isStrict = request.rules.session !== undefined;
  const hint = isStrict ? undefined : scanHints.find(name, now, lockScopeOf(request.rules));
  if (hint === undefined) return await readAndChoose(context, log, request, now);

  if (scanHints.isFresh(hint)) return await readAndChoose(context, log, request, now, hint);
  const [found, rechecked] = await Promise.all([
    readAndChoose(context, log, request, now, hint),
    resultOf(recheck(context, log, hint, request.rules, now)),
  ]);
  const hasFreeInFront = !('value' in rechecked) || rechecked.value;
  if (found.targets.length > 0 && !hasFreeInFront) return found;
  // The hint hides a message, or there is nothing after it: read the whole log.
  for (const { reservation } of found.targets) reservation.end(false);
  scanHints.invalidate(name);
  return await readAndChoose(context, log, request, now);
}

/** Reads pages of blocks, from where the hint says or from the first, until enough is found. */
async function readAndChoose(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
  hint?: ScanHint,
): Promise<Scan> {
  const name = logName(log);
  const { scanHints } = context;
  const isSpread = request.rules.session === undefined;
  const width = isSpread ? context.spread.widthOf(name) : 1;
  // A dead letter that was put back has the same slot as before, so only a lost claim would show that it has changed.
  const isRemembered = isSpread && !request.rules.isDeadLetter;
  const isKnown = isRemembered && width === 1 && hint !== undefined && scanHints.isFresh(hint);
  const remembered = isKnown ? chooseRemembered(context, log, request, now, hint) : undefined;
  if (remembered !== undefined) return remembered;
  const choice = new Choice(context, log, { ...request, width }, now);
  const from = hint?.skipBefore ?? FIRST_BLOCK;
  const active = scanHints.beginScan(name);
  const blocks: Block[] = [];
  let start = from;
  let limit = firstPage(request.maxMessages, width) + active.others;
  try {
    while (choice.wantsMore) {
      const page = await readBlocks(context, log, { from: start, limit, consistent: true });
      for (const block of page.blocks) choice.consider(block);
      blocks.push(...page.blocks);
      if (page.next === undefined) break;
      start = page.next;
      limit = Math.min(PAGE_MAX, limit * 2);
    }
    const result = choice.result(hint, active);
    scanHints.noteExtent(name, active, hint === undefined && blocks.length === 0);
    const isKept = isRemembered && active.changedAt === undefined && result.leftovers.length === 0;
    if (isKept) scanHints.pages.keep(name, { from, blocks, readAt: active.beganAt });
    return result;
  } finally {
    active.end();
  }
}

/** Chooses among the blocks that an earlier scan read; undefined if they are not known, or not enough. */
function chooseRemembered(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
  hint: ScanHint,
): Scan | undefined {
  const page = context.scanHints.pages.find(logName(log), hint.skipBefore);
  if (page === undefined) return undefined;
  const choice = new Choice(context, log, { ...request, width: 1 }, now);
  for (const block of page.blocks) {
    if (!choice.wantsMore) break;
    choice.consider(block);
  }
  if (choice.wantsMore || choice.hasLeftovers) return undefined;
  const result = choice.result(hint, { beganAt: page.readAt, changedAt: undefined });
  // If these are taken, the next choice is among what is there now.
  return { ...result, isFromMemory: true, chooseOthers: () => [] };
}

/** Blocks in the first page: a block holds one message or dozens, and part of the groups may be taken. */
function firstPage(maxMessages: number, width: number): number {
  const front = Math.max(PAGE_MIN, Math.min(maxMessages + 1, FIRST_PAGE_MAX));
  if (width === 1) return front;
  return Math.max(front, Math.min(maxMessages * width + PAGE_MIN, SPREAD_BLOCKS_MAX));
}

/** If a piece completes an old recheck, whose first pieces are stale, the same scan begins the next one. */
const PIECES_MAX = 2;

/**
 * Reads one more piece of the blocks that the hint skips. True = a message there is free: another process put it
 * back, or the block of a slow sender arrived late. At most one read unit.
 */
async function recheck(
  context: StoreContext,
  log: Log,
  hint: ScanHint,
  rules: BlockRules,
  now: number,
): Promise<boolean> {
  const { scanHints } = context;
  const name = logName(log);
  let current: ScanHint = hint;
  let left = RECHECK_BLOCKS;
  for (let pieces = 0; pieces < PIECES_MAX && left > 0; pieces++) {
    const active = scanHints.beginScan(name);
    const { blocks, next } = await readBlocks(context, log, {
      from: current.recheck?.cursor ?? FIRST_BLOCK,
      to: hint.skipBefore,
      limit: left,
      consistent: false,
    }).finally(() => active.end());
    const inFront = blocks.filter((block) => sortKeyOf(block) < hint.skipBefore);
    if (inFront.some((block) => surveyBlock(block, rules, now).free.length > 0)) return true;
    scanHints.noteRecheck(name, hint, active.beganAt, next);
    const noted = scanHints.find(name, now, hint.lockScope);
    if (next !== undefined || noted === undefined || scanHints.isFresh(noted)) return false;
    current = noted;
    left -= blocks.length;
  }
  return false;
}
