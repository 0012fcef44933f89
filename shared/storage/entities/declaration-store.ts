import type {
  Declaration,
  DeclarationStore,
  StoredDeclaration,
} from '../../broker/ports/declarations.ts';
import type { RandomSource } from '../../domain/clock.ts';
import type { Document, DocumentTable } from '../dynamodb/document-table.ts';
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
    return document && fromDocument(document);
  }

  async write(declaration: Declaration, before: StoredDeclaration | undefined): Promise<boolean> {
    const { key, owner, at, adoptedFrom = null } = declaration;
    const stamp = Buffer.from(this.#random.bytes(STAMP_BYTES)).toString('base64url');
    const { done } = await this.#table.update(declarationKey(this.#namespace, key), {
      UpdateExpression:
        'SET stamp = :next, stackArn = :stack, logicalId = :resource, declaredAt = :at, adoptedFrom = :from',
      ConditionExpression: before === undefined ? 'attribute_not_exists(stamp)' : 'stamp = :stamp',
      ExpressionAttributeValues: {
        ':next': stamp,
        ':stack': owner.stack,
        ':resource': owner.resource,
        ':at': at,
        ':from': adoptedFrom,
        ...(before !== undefined && { ':stamp': before.stamp }),
      },
    });
    // A try whose answer was lost may have written it, and made the condition of the next one fail.
    return done || (await this.read(key))?.stamp === stamp;
  }

  async remove({ key, stamp }: StoredDeclaration): Promise<void> {
    await this.#table.delete(declarationKey(this.#namespace, key), {
      ConditionExpression: 'stamp = :stamp',
      ExpressionAttributeValues: { ':stamp': stamp },
    });
  }
}

function fromDocument(document: Document): StoredDeclaration {
  const { sk, stamp, stackArn, logicalId, declaredAt, adoptedFrom } = document;
  return {
    key: String(sk),
    owner: { stack: String(stackArn), resource: String(logicalId) },
    at: Number(declaredAt),
    stamp: String(stamp),
    ...(adoptedFrom !== null && {
      adoptedFrom: adoptedFrom as NonNullable<StoredDeclaration['adoptedFrom']>,
    }),
  };
}
