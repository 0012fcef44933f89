import { unpack } from 'msgpackr';
import { assert } from '../../domain/assert.ts';
import type { Block, PayloadPlace } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';
import { type Item, type ItemKey, keyItem, type Table } from '../dynamodb/table.ts';
import { payloadKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { decodeMessages, unpackProperties } from './message-codec.ts';

/** Writes the items of payloads. No block refers to them yet, so a crash leaves only orphans. */
export async function putPayloads(
  table: Table,
  log: Log,
  pieces: readonly { readonly reference: string; readonly parts: readonly Uint8Array[] }[],
  now: number,
): Promise<void> {
  const items: Item[] = pieces.flatMap(({ reference, parts }) =>
    parts.map((bytes, part) => ({
      ...keyItem(payloadKey(log, reference, part)),
      d: { B: bytes },
      q: { N: String(now) },
    })),
  );
  const [only] = items;
  if (only !== undefined && items.length === 1) await table.put(only);
  else if (items.length > 1) await table.putMany(items);
}

/**
 * Releases the payload of a block whose last slot was removed: deletes the payload, or removes one reference if other
 * blocks share it; the last reference deletes it. The references are a set, so removing one twice is removing it once:
 * a lost answer or a crash may leave garbage, but never a block without its payload.
 */
export async function releasePayload(table: Table, log: Log, place: PayloadPlace): Promise<void> {
  const { reference, sharedIn, sharedAs } = place;
  if (reference === undefined) return;
  const keys = payloadKeys(log, place);
  if (sharedIn !== undefined && sharedAs !== undefined) {
    if (!(await isLastReference(table, referencesKey(sharedIn, reference), sharedAs))) return;
    keys.push(referencesKey(sharedIn, reference));
  }
  const [only] = keys;
  if (only !== undefined && keys.length === 1) await table.delete(only);
  else await table.deleteMany(keys);
}

async function isLastReference(table: Table, key: ItemKey, sharedAs: number): Promise<boolean> {
  const written = await table.update(key, {
    UpdateExpression: 'DELETE c :references',
    ConditionExpression: 'contains(c, :reference)',
    ExpressionAttributeValues: {
      ':references': { NS: [String(sharedAs)] },
      ':reference': { N: String(sharedAs) },
    },
    ReturnValues: 'ALL_NEW',
  });
  // DynamoDB removes a set when its last element is removed.
  return written.done && written.item?.['c'] === undefined;
}

/** The references to a shared payload: the numbers of the blocks that share it. */
export function referencesItem(
  sharedIn: string,
  reference: string,
  count: number,
  now: number,
): Item {
  return {
    ...keyItem(referencesKey(sharedIn, reference)),
    c: { NS: Array.from({ length: count }, (_, number) => String(number)) },
    q: { N: String(now) },
  };
}

function referencesKey(sharedIn: string, reference: string): ItemKey {
  return { pk: sharedIn, sk: `${reference}.n` };
}

/** The keys of the items of a payload; none if it is stored in its block. */
export function payloadKeys(
  log: Log,
  { reference, parts, sharedIn }: Pick<PayloadPlace, 'reference' | 'parts' | 'sharedIn'>,
): ItemKey[] {
  if (reference === undefined) return [];
  return Array.from({ length: parts }, (_, part) => ({
    ...payloadKey(log, reference, part),
    ...(sharedIn === undefined ? {} : { pk: sharedIn }),
  }));
}

/** The messages of blocks that were loaded. */
export interface LoadedMessages {
  /**
   * Whether the payload of a block was found. It exists as long as the block, but the block may have been deleted with
   * its payload since it was read.
   */
  has(block: Block): boolean;
  /** A message by block and slot. */
  at(block: Block, slot: number): Message;
}

type Decoded = readonly (Message | undefined)[];

/**
 * The messages of payloads that were decoded, for as long as anything refers to the block: usually the page memory,
 * which has a limit. A payload never changes, and whoever locks a message of a block knows that it still exists.
 */
const decodedBefore = new WeakMap<PayloadPlace, Decoded>();

/** Messages with more properties take many times their size in memory, and are decoded again. */
const KEPT_PROPERTIES_MAX = 200;

function isLight(messages: Decoded): boolean {
  const count = (message: Message | undefined) =>
    message === undefined ? 0 : Object.keys(message.properties).length;
  return messages.reduce((sum, message) => sum + count(message), 0) <= KEPT_PROPERTIES_MAX;
}

/**
 * Loads the messages of blocks with one strongly consistent batch of gets for all payload items, which were written
 * before the blocks that refer to them. What is decoded already is not read again.
 */
export async function loadMessages(
  { table, compression }: Pick<StoreContext, 'table' | 'compression'>,
  log: Log,
  blocks: readonly Block[],
): Promise<LoadedMessages> {
  const unread = blocks.filter(({ payload }) => !decodedBefore.has(payload));
  // Blocks may share a payload, and a batch of gets may name each key only once.
  const keys = new Map(
    unread.flatMap(({ payload }) => payloadKeys(log, payload)).map((key) => [key.sk, key]),
  );
  const items =
    keys.size === 0 ? [] : await table.getMany([...keys.values()], { consistent: true });
  const bytesByName = new Map(items.map((item) => [item['sk']?.S, item['d']?.B]));

  const decoded = new Map<PayloadPlace, Decoded>();
  for (const { payload } of blocks) {
    const before = decodedBefore.get(payload);
    const bytes = before === undefined ? assemble(payload, bytesByName) : undefined;
    const messages = before ?? (bytes && (await decodeMessages(bytes, compression)));
    if (messages === undefined) continue;
    decoded.set(payload, messages);
    if (isLight(messages)) decodedBefore.set(payload, messages);
  }
  return {
    has: ({ payload }) => decoded.has(payload),
    at: ({ payload }, slot) => {
      const message = decoded.get(payload)?.[payload.offset + slot];
      assert(message !== undefined, 'a slot has a message in the payload of its block');
      return payload.overlay === undefined
        ? message
        : changedBy(message, decodeOverlay(payload.overlay));
    },
  };
}

function assemble(
  { inline, reference, parts }: PayloadPlace,
  bytesByName: ReadonlyMap<string | undefined, Uint8Array | undefined>,
): Uint8Array | undefined {
  const pieces: Uint8Array[] = inline === undefined ? [] : [inline];
  for (let part = 0; part < parts; part++) {
    const bytes = bytesByName.get(`${reference}.${part}`);
    if (bytes === undefined) return undefined;
    pieces.push(bytes);
  }
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

/** A message with the changes of an overlay. */
export function changedBy(message: Message, { properties, deadLetterSource }: Overlay): Message {
  return {
    ...message,
    properties: { ...message.properties, ...properties },
    ...(deadLetterSource === undefined ? {} : { deadLetterSource }),
  };
}

/** Changes to the messages of a block since they were encoded. */
export interface Overlay {
  readonly properties: Message['properties'];
  readonly deadLetterSource?: string;
}

/** Decodes an overlay; an absent one has no changes. */
export function decodeOverlay(bytes: Uint8Array | undefined): Overlay {
  if (bytes === undefined) return { properties: {} };
  const row: unknown = unpack(bytes);
  assert(Array.isArray(row), 'an overlay is a list of fields');
  const deadLetterSource: unknown = row[1];
  return {
    properties: unpackProperties(row[0]),
    ...(typeof deadLetterSource === 'string' ? { deadLetterSource } : {}),
  };
}
