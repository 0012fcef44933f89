import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import {
  type DeclaredEntity,
  deleteEntity,
  putEntity,
  readDeclaredEntity,
  readUpdatedEntity,
} from './declared-entity.ts';
import { deleteKey, isKeyOfRule, putKey, readDeclaredKey } from './declared-key.ts';
import type { DeclareDependencies } from './dependencies.ts';
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
const KEY_TYPE = 'Custom::DynabusAuthorizationRule';

/** As JSON, bytes: CloudFormation takes an answer of 4,096 bytes, and waits in vain for a longer one. */
const REASON_BYTES_MAX = 2000;
/** The id of a resource of which nothing was made, or all was undone. */
const NOTHING_MADE = '$nothing-made';

/** Whether an id is one of ours. Those of CloudFormation begin with the names of stack and resource. */
function isOurs(id: string, isKey: boolean): boolean {
  return id === NOTHING_MADE || (isKey ? isKeyOfRule(id) : id === id.toLowerCase());
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
  const isKey = event.ResourceType === KEY_TYPE;
  if (event.RequestType === 'Delete') {
    const { PhysicalResourceId: id } = event;
    // A creation whose answer never came has an id of CloudFormation's own: then the properties say what it made.
    const isUnknown = !isOurs(id, isKey);
    const made = isUnknown ? idOrNothing(event, event.ResourceProperties) : id;
    if (isKey) await deleteKey(dependencies, made, by);
    else await deleteEntity(dependencies, made, by, isUnknown);
    return id;
  }
  if (isKey) {
    const declared = readDeclaredKey(event.ResourceProperties);
    await putKey(dependencies, declared, by, known);
    if (event.RequestType === 'Update' && known === declared.key) {
      // A rollback comes from properties of an update that failed, perhaps without telling what it had made.
      const failed = idOrNothing(event, event.OldResourceProperties);
      if (failed !== declared.key) await deleteKey(dependencies, failed, by);
    }
    return declared.key;
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
function idOrNothing(
  event: CloudFormationCustomResourceEvent,
  properties: Readonly<Record<string, unknown>>,
): string {
  try {
    return event.ResourceType === KEY_TYPE
      ? readDeclaredKey(properties).key
      : readDeclaredEntity(kindOf(event), properties).key;
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
