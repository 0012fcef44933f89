import { Names } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IConstruct } from 'constructs';
import { keyParameterName } from '../../shared/config/key-parameter.ts';
import { effectiveGrant } from '../effective-grant.ts';
import { SettingsError } from '../setting-faults.ts';
import { outermostStack, pathInStack } from '../stack-place.ts';
import { AuthorizationRule } from './authorization-rule.ts';
import type { IEntity, IQueue, ITopic } from './entity-ref.ts';
import { isDestination, isSubscription, isTopic } from './find-scope.ts';
import { invokePaths, type Right } from './invoke-paths.ts';

const NAME_LENGTH_MAX = 100;

/** Grants a right on an entity: see `IEntity`. */
export function grantOn(entity: IEntity, grantee: IGrantable, right: Right): Grant {
  const { broker, entityPath: path } = entity;
  if (broker.access === 'sas') return grantByRule(entity, grantee, right);
  if (broker.endpointType === 'functionUrl') {
    throw new SettingsError([
      `${entity.node.path}: IAM decides about a function URL as a whole, so no grant can be limited to this entity: set endpoint apiGateway or access sas for the broker, or grant everything by broker.grantManage.`,
    ]);
  }
  const paths = invokePaths(right, { kind: kindOf(entity), path });
  const grant = Grant.addToPrincipal({
    grantee,
    actions: ['execute-api:Invoke'],
    resourceArns: paths.map((one) => `${broker.invokeArn}/${one}`),
  });
  return effectiveGrant(entity.node.path, grantee, grant);
}

/** Sets the environment of a function: see `IEntity`. */
export function addEnvironment(entity: IEntity, fn: LambdaFunction, prefix?: string): void {
  const { broker, entityPath } = entity;
  const start = prefix ?? defaultPrefix(entity);
  if (!ENVIRONMENT_NAME.test(start)) {
    throw new SettingsError([
      `${entity.node.path}: The prefix '${start}' cannot begin the name of an environment variable: write a letter, then letters, digits and underscores.`,
    ]);
  }
  notePrefix(entity, fn, start);
  fn.addEnvironment(`${start}_ENDPOINT`, broker.url);
  // Policies tell capitals apart, and grants name the lower-case path.
  fn.addEnvironment(
    `${start}_ENTITY`,
    broker.access === 'iam' ? entityPath.toLowerCase() : entityPath,
  );
  if (broker.access === 'iam') return;
  const { parameterPrefix } = broker;
  const keyName = keyNameOf(principalOf(entity, fn));
  const ruled = ruledEntity(entity);
  fn.addEnvironment(
    `${start}_CONNECTION_PARAMETER`,
    keyParameterName(parameterPrefix, { entity: ruled.entityPath, keyName }),
  );
  const needed = isSubscription(entity) ? 'Listen' : undefined;
  fn.node.addValidation({
    validate: () =>
      ruleFor(ruled, principalOf(entity, fn))?.allows(needed) !== true
        ? [
            `It has the environment of ${entity.node.path}, but no grant: call grantSend, grantListen or grantManage.`,
          ]
        : [],
  });
}

/** By function, the entity that each prefix of its environment means. */
const prefixesOf = new WeakMap<LambdaFunction, Map<string, IEntity>>();

/** Throws SettingsError if the environment of the function has the same names for another entity. */
function notePrefix(entity: IEntity, fn: LambdaFunction, prefix: string): void {
  const prefixes = prefixesOf.get(fn) ?? new Map<string, IEntity>();
  prefixesOf.set(fn, prefixes);
  const other = prefixes.get(prefix);
  if (other !== undefined && ruleKey(other) !== ruleKey(entity)) {
    throw new SettingsError([
      `${entity.node.path}: ${fn.node.path} has the variables ${prefix}_… for ${other.node.path} already: add another prefix as the second argument.`,
    ]);
  }
  prefixes.set(prefix, entity);
}

const ENVIRONMENT_NAME = /^[A-Za-z]\w*$/;

function defaultPrefix({ entityPath }: IEntity): string {
  const words = entityPath.replace(/\/Subscriptions\//i, '_').replaceAll(/[^A-Za-z0-9]+/g, '_');
  return `DYNABUS_${words.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase()}`;
}

function kindOf(entity: IEntity) {
  if (isSubscription(entity)) return 'subscription';
  return isTopic(entity) ? 'topic' : 'queue';
}

/** By the principal of a grant, the rules that it has, by the lower-case path of their entity. */
const rulesOf = new WeakMap<IConstruct, Map<string, AuthorizationRule>>();

/** One rule for each principal and entity, with all rights that its grants give. */
function grantByRule(entity: IEntity, grantee: IGrantable, right: Right): Grant {
  const ruled = ruledEntity(entity);
  const principal = principalOf(entity, grantee);
  const found = ruleFor(ruled, principal);
  found?.addRight(right);
  const rule = found ?? createRule(ruled, principal, right);
  return effectiveGrant(entity.node.path, grantee, rule.grantRead(grantee));
}

/** A rule below the principal, so that whatever waits for a role waits for its keys, too. */
function createRule(
  entity: IQueue | ITopic,
  principal: IConstruct,
  right: Right,
): AuthorizationRule {
  const rule = new AuthorizationRule(principal as Construct, idOfRule(entity), {
    entity,
    rights: [right],
    ruleName: keyNameOf(principal),
  });
  const rules = rulesOf.get(principal) ?? new Map<string, AuthorizationRule>();
  rulesOf.set(principal, rules);
  rules.set(ruleKey(entity), rule);
  return rule;
}

/**
 * Names the broker by its stack and its path in there, so that the order of grants does not matter, and a stack can
 * move in its app without other logical ids. No name of a stack or of an entity has a space.
 */
function idOfRule({ broker, entityPath }: IEntity): string {
  const { stackName } = outermostStack(broker);
  const words = ['Dynabus', stackName, pathInStack(broker), entityPath.toLowerCase()];
  return words.join(' ').replaceAll('/', '!');
}

function ruleFor(entity: IQueue | ITopic, principal: IConstruct): AuthorizationRule | undefined {
  return rulesOf.get(principal)?.get(ruleKey(entity));
}

function ruleKey({ broker, entityPath }: IEntity): string {
  return `${broker.node.addr}/${entityPath.toLowerCase()}`;
}

/** The entity whose rules decide about another one: of a subscription, its topic. */
function ruledEntity(entity: IEntity): IQueue | ITopic {
  const ruled = isSubscription(entity) ? entity.topic : entity;
  if (isDestination(ruled)) return ruled;
  throw new SettingsError([`${entity.node.path}: It is no queue, topic or subscription.`]);
}

/** The principal that gets the rights, which several functions may share. */
function principalOf({ node }: IEntity, grantee: IGrantable): IConstruct {
  const { grantPrincipal: principal } = grantee;
  if (Construct.isConstruct(principal)) return principal;
  if (Construct.isConstruct(grantee)) return grantee;
  throw new SettingsError([
    `${node.path}: Under sas access a grant needs a construct with a role, such as a function or a role, and ${String(grantee)} is none.`,
  ]);
}

function keyNameOf(principal: IConstruct): string {
  return Names.uniqueResourceName(principal, {
    maxLength: NAME_LENGTH_MAX,
    separator: '-',
    allowedSpecialCharacters: '._-',
  });
}
