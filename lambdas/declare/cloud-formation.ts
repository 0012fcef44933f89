import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import {
  deleteConsumer,
  isKeyOfConsumer,
  putConsumer,
  readDeclaredConsumer,
} from './declared-consumer.ts';
import {
  type DeclaredEntity,
  deleteEntity,
  putEntity,
  readDeclaredEntity,
  readUpdatedEntity,
} from './declared-entity.ts';
import { deleteKey, isKeyOfRule, putKey, readDeclaredKey } from './declared-key.ts';
import type { DeclareDependencies } from './dependencies.ts';
import type { Claimant } from './ownership.ts';
import { NotUndoneError, textOf } from './undo.ts';

/** What the function answers CloudFormation. */
export interface ResourceAnswer {
  readonly Status: 'SUCCESS' | 'FAILED';
  /** Why it failed. */
  readonly Reason?: string;
  /** If an update returns another id than before, CloudFormation deletes the resource of the id before. */
  readonly PhysicalResourceId: string;
  readonly StackId: string;
  readonly RequestId: string;
  readonly LogicalResourceId: string;
}

const KINDS: ReadonlyMap<string, EntityDescription['kind']> = new Map([
  ['Custom::DynabusQueue', 'queue'],
  ['Custom::DynabusTopic', 'topic'],
  ['Custom::DynabusSubscription', 'subscription'],
]);
/** As JSON, bytes: CloudFormation takes an answer of 4,096 bytes, and waits in vain for a longer one. */
const REASON_BYTES_MAX = 2000;
/** The id of a resource of which nothing was made, or all was undone. */
const NOTHING_MADE = '$nothing-made';

/** What belongs to an entity and is declared by a resource of its own, which is never retained. */
interface Part {
  /** Whether an id is one of its kind. */
  readonly isKey: (id: string) => boolean;
  /** The id of what properties describe. Throws ArgumentError. */
  readonly keyOf: (properties: Properties) => string;
  /** Makes what properties describe, and returns its id. */
  readonly put: (
    dependencies: DeclareDependencies,
    properties: Properties,
    by: Claimant,
    known: string | undefined,
  ) => Promise<string>;
  readonly remove: (dependencies: DeclareDependencies, key: string, by: Claimant) => Promise<void>;
}

type Properties = Readonly<Record<string, unknown>>;

const PARTS: ReadonlyMap<string, Part> = new Map([
  [
    'Custom::DynabusAuthorizationRule',
    partOf({ isKey: isKeyOfRule, read: readDeclaredKey, put: putKey, remove: deleteKey }),
  ],
  [
    'Custom::DynabusConsumer',
    partOf({
      isKey: isKeyOfConsumer,
      read: readDeclaredConsumer,
      put: putConsumer,
      remove: deleteConsumer,
    }),
  ],
]);

function partOf<Declared extends { readonly key: string }>({
  isKey,
  read,
  put,
  remove,
}: Pick<Part, 'isKey' | 'remove'> & {
  readonly read: (properties: Properties) => Declared;
  readonly put: (
    dependencies: DeclareDependencies,
    declared: Declared,
    by: Claimant,
    known: string | undefined,
  ) => Promise<void>;
}): Part {
  return {
    isKey,
    keyOf: (properties) => read(properties).key,
    put: async (dependencies, properties, by, known) => {
      const declared = read(properties);
      await put(dependencies, declared, by, known);
      return declared.key;
    },
    remove,
  };
}

/** Whether an id is one of ours. Those of CloudFormation begin with the names of stack and resource. */
function isOurs(id: string, part: Part | undefined): boolean {
  return id === NOTHING_MADE || (part === undefined ? id === id.toLowerCase() : part.isKey(id));
}

/**
 * Does what an event of CloudFormation asks for. Every event can come again, and can come after one that ended in the
 * middle: what counts is what is there, not what the event says was there. Failures are answers, not errors.
 */
export async function answerEvent(
  dependencies: DeclareDependencies,
  event: CloudFormationCustomResourceEvent,
): Promise<ResourceAnswer> {
  const { StackId, RequestId, LogicalResourceId } = event;
  const known = event.RequestType === 'Create' ? undefined : event.PhysicalResourceId;
  const answer = (Status: ResourceAnswer['Status'], PhysicalResourceId: string) => ({
    Status,
    PhysicalResourceId,
    StackId,
    RequestId,
    LogicalResourceId,
  });
  try {
    return answer('SUCCESS', await carryOut(dependencies, event, known));
  } catch (error) {
    // A creation that failed leaves nothing, so its deletion must not take what was there before.
    const made =
      error instanceof NotUndoneError ? idOrNothing(event, event.ResourceProperties) : NOTHING_MADE;
    return { ...answer('FAILED', known ?? made), Reason: reasonOf(error) };
  }
}

async function carryOut(
  dependencies: DeclareDependencies,
  event: CloudFormationCustomResourceEvent,
  known: string | undefined,
): Promise<string> {
  const by = { owner: ownerOf(event), event: event.RequestId };
  const part = PARTS.get(event.ResourceType);
  if (event.RequestType === 'Delete') {
    const { PhysicalResourceId: id } = event;
    // A creation whose answer never came has an id of CloudFormation's own: then the properties say what it made.
    const isUnknown = !isOurs(id, part);
    const made = isUnknown ? idOrNothing(event, event.ResourceProperties) : id;
    if (part === undefined) await deleteEntity(dependencies, made, by, isUnknown);
    else await part.remove(dependencies, made, by);
    return id;
  }
  if (part !== undefined) {
    const key = await part.put(dependencies, event.ResourceProperties, by, known);
    if (event.RequestType === 'Update' && known === key) {
      // A rollback comes from properties of an update that failed, perhaps without telling what it had made.
      const failed = idOrNothing(event, event.OldResourceProperties);
      if (failed !== key) await part.remove(dependencies, failed, by);
    }
    return key;
  }
  const declared = declaredBy(event);
  await putEntity(dependencies, declared, by, known);
  return declared.key;
}

function declaredBy(event: CloudFormationCustomResourceEvent): DeclaredEntity {
  const { ResourceProperties: properties } = event;
  return event.RequestType === 'Update'
    ? readUpdatedEntity(kindOf(event), properties, event.OldResourceProperties)
    : readDeclaredEntity(kindOf(event), properties);
}

/** The id of the resource that properties of an event describe. */
function idOrNothing(event: CloudFormationCustomResourceEvent, properties: Properties): string {
  try {
    const part = PARTS.get(event.ResourceType);
    return part === undefined
      ? readDeclaredEntity(kindOf(event), properties).key
      : part.keyOf(properties);
  } catch {
    return NOTHING_MADE;
  }
}

function kindOf({ ResourceType: type }: CloudFormationCustomResourceEvent) {
  const kind = KINDS.get(type);
  if (kind === undefined) throw new Error(`The resource type ${type} is unknown.`);
  return kind;
}

function ownerOf({ StackId, LogicalResourceId }: CloudFormationCustomResourceEvent) {
  return { stack: StackId.replace(/\/[^/]*$/, ''), resource: LogicalResourceId };
}

function reasonOf(error: unknown): string {
  const advice =
    error instanceof BrokerError && error.retryable ? ' Deploy again in a moment.' : '';
  return `${fitting(textOf(error))}${advice}`;
}

function fitting(text: string): string {
  let length = 0;
  let bytes = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - '""'.length;
    if (bytes > REASON_BYTES_MAX) return `${text.slice(0, length)}…`;
    length += character.length;
  }
  return text;
}
