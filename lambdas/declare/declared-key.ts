import { formatConnectionString } from '../../shared/auth/connection-string.ts';
import { entityTag } from '../../shared/broker/management/if-match.ts';
import type { RuleOfEntity } from '../../shared/config/key-parameter.ts';
import { assert } from '../../shared/domain/assert.ts';
import { argumentError } from '../../shared/domain/broker-error.ts';
import { ACCESS_RIGHTS } from '../../shared/domain/entities/authorization-rules.ts';
import type { AccessRight, AuthorizationRule } from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { claim, disown, isHeld } from './claim.ts';
import { except } from './declared-entity.ts';
import type { DeclareDependencies } from './dependencies.ts';
import type { Claimant } from './ownership.ts';
import { repeat } from './repeat.ts';
import { undoOnFailure } from './undo.ts';

/** An authorization rule of a queue or topic that a stack declares, with its key in a parameter. */
export interface DeclaredKey {
  /** By which CloudFormation knows it. */
  readonly key: string;
  /** The path of the queue or topic. */
  readonly entity: string;
  readonly keyName: string;
  readonly rights: readonly AccessRight[];
  /** The host of the namespace, for the connection string. */
  readonly host: string;
}

/** Between the key of an entity and the name of its rule. No name has a `$`, so no queue has the key of a rule. */
const INFIX = '/$authorizationrules/';

/** Whether an id is that of a declared rule. */
export function isKeyOfRule(id: string): boolean {
  return id.includes(INFIX);
}

/** Names that are both a rule's and a part of a parameter's. */
const KEY_NAME = /^[\w.-]{1,128}$/;
const RIGHTS: readonly unknown[] = ACCESS_RIGHTS;

/** Reads the properties of a resource. Throws ArgumentError. */
export function readDeclaredKey(properties: Readonly<Record<string, unknown>>): DeclaredKey {
  const { Entity: entity, KeyName: keyName, Rights: rights, Endpoint: endpoint } = properties;
  if (typeof entity !== 'string') {
    throw argumentError('The property Entity is missing.');
  }
  if (typeof keyName !== 'string' || !KEY_NAME.test(keyName)) {
    throw argumentError('KeyName must be 1 to 128 letters, digits, dots, hyphens and underscores.');
  }
  if (
    !Array.isArray(rights) ||
    rights.length === 0 ||
    !rights.every((one) => RIGHTS.includes(one))
  ) {
    throw argumentError('Rights must be a list of Manage, Send and Listen.');
  }
  if (typeof endpoint !== 'string') throw argumentError('The property Endpoint is missing.');
  const host = endpoint.replace(/^\w+:\/\//, '').replace(/\/.*$/, '');
  const key = `${parseEntityPath(entity).key}${INFIX}${keyName}`;
  return { key, entity, keyName, rights: rights as AccessRight[], host };
}

/**
 * Makes an authorization rule as it is declared, with new keys if it has none yet, and stores a connection string with
 * its primary key in the parameter. The same call again keeps the keys. An added, changed or removed rule ends the
 * locks on the entity's messages, as each update of an entity does. Throws ArgumentError, MessagingEntityNotFound.
 */
export async function putKey(
  dependencies: DeclareDependencies,
  declared: DeclaredKey,
  by: Claimant,
  known: string | undefined,
): Promise<void> {
  const { management } = dependencies;
  const { key, entity, keyName } = declared;
  const isRepeated = await repeat(dependencies, async () => {
    const found = await management.get(entity);
    if (found.description.kind === 'subscription') {
      throw argumentError('A subscription has no authorization rules: those of its topic apply.');
    }
    const rights = ruleOf(found, keyName)?.rights;
    const title = `authorization rule '${keyName}' of '${entity}'`;
    // A grant may move to another construct, and keeps its key.
    const adoption = { adopts: false, moves: true };
    const exists = rights !== undefined;
    const wanted = { ...by, key, title, exists, known, adoption, rights };
    return (await claim(dependencies, wanted)) && exists;
  });
  await undoOnFailure(
    { isKnown: known === key, isRepeated },
    () => deleteKey(dependencies, key, by),
    async () => {
      await writeKey(dependencies, declared);
      // CloudFormation deletes what it creates while that is under way, if another resource has failed.
      if (known === key || (await isHeld(dependencies, key, by))) return;
      await removeKey(dependencies, declared);
      throw argumentError('CloudFormation has deleted the resource while it was created.');
    },
  );
}

/** Writes the rule, and its connection string into the parameter. */
async function writeKey(dependencies: DeclareDependencies, declared: DeclaredKey): Promise<void> {
  const { entity, keyName, rights, host } = declared;
  const updated = await setRights(dependencies, declared, rights);
  const rule = ruleOf(updated, keyName);
  assert(rule !== undefined, 'the rule was just written');
  const text = formatConnectionString({
    host,
    keyName,
    key: rule.primaryKey,
    entityPath: entity,
    isLocal: false,
  });
  await repeat(dependencies, () => dependencies.parameters.put({ entity, keyName }, text));
}

/**
 * Deletes an authorization rule and its parameter, if this resource has made it; its keys stop working. A rule that
 * this resource has taken over goes back, with the rights that it had.
 */
export async function deleteKey(
  dependencies: DeclareDependencies,
  key: string,
  by: Claimant,
): Promise<void> {
  const [entity = '', keyName = ''] = key.split(INFIX);
  const undoing = {
    remove: () => removeKey(dependencies, { entity, keyName }),
    restore: async (rights: readonly string[]) => {
      await setRights(dependencies, { entity, keyName }, rights as readonly AccessRight[]).catch(
        except('MessagingEntityNotFound'),
      );
    },
  };
  const claimant = { ...by, leaves: false };
  await repeat(dependencies, () => disown(dependencies, key, claimant, undoing));
}

async function removeKey(
  dependencies: DeclareDependencies,
  { entity, keyName }: RuleOfEntity,
): Promise<void> {
  await changeRules(dependencies, entity, (rules) => {
    const others = rules.filter((rule) => rule.keyName !== keyName);
    return others.length === rules.length ? rules : others;
  }).catch(except('MessagingEntityNotFound'));
  await repeat(dependencies, () => dependencies.parameters.remove({ entity, keyName }));
}

/** Makes a rule of an entity, or changes its rights and keeps its keys. Returns the entity as it is then. */
async function setRights(
  dependencies: DeclareDependencies,
  { entity, keyName }: RuleOfEntity,
  rights: readonly AccessRight[],
): Promise<Entity> {
  return await changeRules(dependencies, entity, (rules) => {
    const others = rules.filter((rule) => rule.keyName !== keyName);
    const before = rules.find((rule) => rule.keyName === keyName);
    const isSame = before !== undefined && isSameRights(before.rights, rights);
    return isSame ? rules : [...others, { ...before, keyName, rights }];
  });
}

type RuleInput = Pick<AuthorizationRule, 'keyName' | 'rights'> & Partial<AuthorizationRule>;

/** Changes the rules of an entity, unless `change` returns them as they are. Returns the entity as it is then. */
async function changeRules(
  dependencies: DeclareDependencies,
  path: string,
  change: (rules: readonly AuthorizationRule[]) => readonly RuleInput[],
): Promise<Entity> {
  const { management } = dependencies;
  return await repeat(dependencies, async () => {
    const entity = await management.get(path);
    const { description } = entity;
    assert(description.kind !== 'subscription', 'it was a queue or topic a moment ago');
    const { authorizationRules: before } = description;
    const rules = change(before);
    if (rules === before) return entity;
    const settings = { ...description, authorizationRules: rules };
    return await management.update(path, settings, [entityTag(entity)]);
  }, ['PreconditionFailed']);
}

function ruleOf({ description }: Entity, keyName: string): AuthorizationRule | undefined {
  if (description.kind === 'subscription') return undefined;
  return description.authorizationRules.find((rule) => rule.keyName === keyName);
}

/** Manage includes the others, so the stored rights may be more than the declared ones. */
function isSameRights(stored: readonly AccessRight[], declared: readonly AccessRight[]): boolean {
  const wanted = new Set<unknown>(declared.includes('Manage') ? RIGHTS : declared);
  return stored.length === wanted.size && stored.every((right) => wanted.has(right));
}
