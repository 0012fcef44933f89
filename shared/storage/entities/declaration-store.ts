import type {
  Declaration,
  DeclarationStore,
  StoredDeclaration,
} from '../../broker/ports/declarations.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { DAY_MS } from '../../domain/units.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import { declarationKey } from '../schema/entity-keys.ts';

const STAMP_BYTES = 9;

/** Keeps declarations in the entities table, each as one small item. Throws as `DocumentTable`. */
export class DynamoDeclarationStore implements DeclarationStore {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  readonly #random: RandomSource;

  constructor(table: DocumentTable, namespace: string, random: RandomSource) {
    this.#table = table;
    this.#namespace = namespace;
    this.#random = random;
  }

  async read(key: string): Promise<StoredDeclaration | undefined> {
    const document = await this.#table.get(declarationKey(this.#namespace, key));
    if (document === undefined) return undefined;
    const { stamp, declaration } = document;
    return { ...(declaration as Declaration), key, stamp: String(stamp) };
  }

  async write(
    { key, ...declaration }: Declaration,
    before: StoredDeclaration | undefined,
  ): Promise<boolean> {
    const stamp = Buffer.from(this.#random.bytes(STAMP_BYTES)).toString('base64url');
    // The attribute gc is GARBAGE_AFTER.
    const endedUntil = declaration.state === 'ended' ? declaration.at + DAY_MS : undefined;
    const { done } = await this.#table.update(declarationKey(this.#namespace, key), {
      UpdateExpression:
        endedUntil === undefined
          ? 'SET stamp = :next, declaration = :declaration REMOVE gc'
          : 'SET stamp = :next, declaration = :declaration, gc = :gc',
      ConditionExpression: before === undefined ? 'attribute_not_exists(stamp)' : 'stamp = :stamp',
      ExpressionAttributeValues: {
        ':next': stamp,
        ':declaration': declaration,
        ...(endedUntil !== undefined && { ':gc': Math.ceil(endedUntil / 1000) }),
        ...(before !== undefined && { ':stamp': before.stamp }),
      },
    });
    // A try whose answer was lost may have written it, and made the condition of the next one fail.
    return done || (await this.read(key))?.stamp === stamp;
  }
}
