import { ArnFormat, CustomResource, Duration, Lazy, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { keyParameterName } from '../../shared/config/key-parameter.ts';
import { ACCESS_RIGHTS } from '../../shared/domain/entities/authorization-rules.ts';
import { correction, listed } from '../../shared/domain/fault-words.ts';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError, shownSetting } from '../setting-faults.ts';
import { requirePlaceOf } from '../stack-place.ts';
import type { IQueue, ITopic } from './entity-ref.ts';
import { entityAround, isDestination, requireFreeId } from './find-scope.ts';
import type { Right } from './invoke-paths.ts';
import { noteRule } from './registry.ts';

/** How long CloudFormation waits for an answer; longer than Lambda takes to try an event three times. */
export const SERVICE_TIMEOUT = Duration.minutes(20);

const RULE_NAME = /^[\w.-]{1,128}$/;
/** The levels that the name of a parameter may have. */
const PARAMETER_LEVELS_MAX = 15;

/** The properties of an authorization rule. */
export interface AuthorizationRuleProps {
  /** At least one; `Manage` includes the others. */
  readonly rights: readonly ('Manage' | 'Send' | 'Listen')[];
  /** The queue or topic, for which there can be 12 rules. Default: the scope, or the nearest entity around it. */
  readonly entity?: IQueue | ITopic;
  /**
   * The name: 1 to 128 letters, digits, `.`, `-` and `_`. Another name makes another key. Default: the id of the
   * construct.
   */
  readonly ruleName?: string;
}

/**
 * A shared access policy of a queue or topic, for a broker with `sas` access. Its key is generated at deployment and
 * kept in Systems Manager, as a connection string in a SecureString parameter, which costs nothing. The key ends with
 * the rule. To create, change or remove a rule ends the locks on the messages of its entity, as every update does.
 */
export class AuthorizationRule extends Construct {
  readonly entity: IQueue | ITopic;
  readonly ruleName: string;
  /** The name of the parameter whose value is the connection string. */
  readonly parameterName: string;
  readonly #rights: Set<Right>;

  constructor(scope: Construct, id: string, props: AuthorizationRuleProps) {
    requireFreeId(scope, id, 'ruleName');
    super(scope, id);
    const { rights, ruleName = id, entity = entityAround(scope), ...others } = props;
    this.entity = checked(this, entity, { rights, ruleName, others });
    this.ruleName = ruleName;
    this.#rights = new Set(rights);
    const { broker, entityPath } = this.entity;
    requirePlaceOf(broker, this);
    const at = this.node.path;
    noteRule(broker, { entity: entityPath, keyName: ruleName, at });
    this.parameterName = keyParameterName(broker.parameterPrefix, {
      entity: entityPath,
      keyName: ruleName,
    });
    requireFewLevels(at, this.parameterName);
    const resource = new CustomResource(this, 'Resource', {
      serviceToken: broker.entityServiceToken,
      serviceTimeout: SERVICE_TIMEOUT,
      resourceType: 'Custom::DynabusAuthorizationRule',
      removalPolicy: RemovalPolicy.DESTROY,
      properties: {
        Entity: entityPath,
        KeyName: ruleName,
        Rights: Lazy.list({
          produce: () => ACCESS_RIGHTS.filter((right) => this.#rights.has(right)),
        }),
        Endpoint: endpointOf(broker),
        // So that another name is an update, which writes the parameter.
        Parameter: this.parameterName,
      },
    });
    resource.node.addDependency(this.entity);
  }

  /** Allows to read the connection string. */
  grantRead(grantee: IGrantable): Grant {
    // The name begins with a slash, which is no separator here; it may be a token, whose first character nobody knows.
    const arn = Stack.of(this.entity.broker).formatArn({
      service: 'ssm',
      resource: `parameter${this.parameterName}`,
      arnFormat: ArnFormat.NO_RESOURCE_NAME,
    });
    return Grant.addToPrincipal({
      grantee,
      actions: ['ssm:GetParameter', 'ssm:GetParameters'],
      resourceArns: [arn],
    });
  }

  /** Whether it gives a right, or, without one, any. @internal */
  allows(right: Right | undefined): boolean {
    return right === undefined || this.#rights.has('Manage') || this.#rights.has(right);
  }

  /** Adds a right that another grant needs. @internal */
  addRight(right: Right): void {
    this.#rights.add(right);
  }
}

/** The address in connection strings: official clients speak AMQP, and only the gateway does, if there is one. */
function endpointOf({ amqpDomainName, url }: IBroker): string {
  return amqpDomainName === undefined ? url : `sb://${amqpDomainName}`;
}

function checked(
  { node: { path: at } }: Construct,
  entity: unknown,
  {
    rights,
    ruleName,
    others,
  }: Required<Omit<AuthorizationRuleProps, 'entity'>> & {
    readonly others: object;
  },
): IQueue | ITopic {
  const faults = Object.keys(others).map(
    (name) =>
      `${at}: ${name} is not a property of an AuthorizationRule: ${correction(name, ['entity', 'rights', 'ruleName'])}.`,
  );
  if (!isDestination(entity)) {
    faults.push(
      `${at}: It belongs to no queue or topic of dynabus: create it in one, or set entity.`,
    );
  } else if (entity.broker.access === 'iam') {
    faults.push(
      `${at}: The broker has access iam, so authorization rules have no effect: use grantSend, grantListen and grantManage.`,
    );
  }
  if (!RULE_NAME.test(ruleName)) {
    faults.push(
      `${at}: ruleName is ${shownSetting(ruleName)}, but must be 1 to 128 letters, digits, dots, hyphens and underscores.`,
    );
  }
  const isList = Array.isArray(rights) && rights.length > 0;
  if (!isList || !rights.every((right) => ACCESS_RIGHTS.includes(right))) {
    faults.push(
      `${at}: rights is ${shownSetting(rights)}, but must be a list of ${listed(ACCESS_RIGHTS, 'and')}, with at least one.`,
    );
  }
  if (faults.length > 0 || !isDestination(entity)) throw new SettingsError(faults);
  return entity;
}

function requireFewLevels(at: string, parameter: string): void {
  const levels = parameter.split('/').length - 1;
  if (levels <= PARAMETER_LEVELS_MAX) return;
  throw new SettingsError([
    `${at}: The parameter ${parameter} has ${levels} levels, and Systems Manager allows ${PARAMETER_LEVELS_MAX}: choose a name with fewer slashes for the entity.`,
  ]);
}
