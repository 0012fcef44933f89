import { CustomResource, Lazy, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { type Construct, Dependable, type IDependable } from 'constructs';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import {
  type EntityDescription,
  SUBSCRIPTION_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import {
  FORWARDING,
  requireForwardingElsewhere,
  requireSessionsMayForward,
} from '../../shared/domain/entities/forwarding-settings.ts';
import { shown } from '../../shared/domain/fault-words.ts';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError, shownSetting } from '../setting-faults.ts';
import { requirePlaceOf } from '../stack-place.ts';
import { SERVICE_TIMEOUT } from './authorization-rule.ts';
import type { DeliveryProps, EntityProps } from './entity-props.ts';
import type { IQueue, ITopic } from './entity-ref.ts';
import { isDestination, isTopic, whatIs } from './find-scope.ts';
import { readEntity } from './read-props.ts';
import {
  declaringConstruct,
  forwardsTo,
  noteEntity,
  noteForwarding,
  noteForwards,
} from './registry.ts';

/** An entity to declare. */
export interface DeclaredEntity {
  readonly kind: EntityDescription['kind'];
  readonly broker: IBroker;
  readonly name: string;
  /** The name of a subscription's topic. */
  readonly topic?: string;
  /** The properties that are settings, and those that are not. */
  readonly props: Readonly<Record<string, unknown>> & EntityProps & DeliveryProps;
  /** The rules of a subscription, as JSON has them, which constructs may add until synthesis. */
  readonly rules?: () => readonly object[];
}

/** The properties of constructs that are no settings of entities. */
const NO_SETTINGS = ['removalPolicy', 'adopt', 'adoptFrom', 'broker', 'topic'];
const TYPES = {
  queue: 'Custom::DynabusQueue',
  topic: 'Custom::DynabusTopic',
  subscription: 'Custom::DynabusSubscription',
} as const;

/**
 * Checks a declared entity and creates its resource, which deployment makes after the destinations of its forwards.
 * Throws SettingsError with a line for each fault.
 */
export function declareEntity(scope: Construct, declared: DeclaredEntity): CustomResource {
  const { kind, broker, name, topic, props, rules } = declared;
  const at = scope.node.path;
  if (props['rules'] !== undefined) {
    throw new SettingsError([`${at}: rules: Rules are declared by constructs: use Rule.`]);
  }
  requireOptions(at, props);
  requirePlaceOf(broker, scope);
  const destinations = destinationsOf(at, broker, props);
  const { config, settings } = readEntity(at, {
    kind,
    name,
    topic,
    tier: broker.tier,
    settings: settingsOf(props, destinations),
  });
  requireMayForward(at, config, destinations);
  noteEntity(broker, config.name, scope);
  noteForwards(
    broker,
    config.name,
    destinations.map(([, { entityPath }]) => entityPath),
  );
  if (destinations.some(([setting]) => setting === 'forwardTo')) {
    noteForwarding(broker, config.name);
  }
  const resource = new CustomResource(scope, 'Resource', {
    serviceToken: broker.entityServiceToken,
    serviceTimeout: SERVICE_TIMEOUT,
    resourceType: TYPES[kind],
    removalPolicy: props.removalPolicy ?? defaultPolicy(broker),
    properties: {
      Name: config.name,
      // As text, because CloudFormation turns numbers and booleans of properties into texts.
      Settings: Lazy.string({
        produce: () => Stack.of(scope).toJsonString({ ...settings, ...withRules(rules) }),
      }),
      ...(props.adopt === true && { Adopt: 'true' }),
      ...(props.adoptFrom !== undefined && { AdoptFrom: props.adoptFrom }),
    },
  });
  for (const [, destination] of destinations) {
    resource.node.addDependency(unlessInCircle(config.name, destination));
  }
  return resource;
}

/** Checks the properties that are no settings of the service. */
function requireOptions(at: string, { adopt, adoptFrom, removalPolicy }: EntityProps): void {
  const faults: string[] = [];
  if (typeof (adopt ?? false) !== 'boolean') {
    faults.push(`adopt: It must be true or false, not ${shownSetting(adopt)}.`);
  }
  if (typeof (adoptFrom ?? '') !== 'string') {
    faults.push(`adoptFrom: It must be the name of a stack, not ${shown(adoptFrom)}.`);
  }
  if (removalPolicy === RemovalPolicy.SNAPSHOT) {
    faults.push(
      'removalPolicy: It cannot be SNAPSHOT, since there are no snapshots of entities: set DESTROY, RETAIN or RETAIN_ON_UPDATE_OR_DELETE.',
    );
  }
  if (faults.length > 0) throw new SettingsError(faults.map((fault) => `${at}: ${fault}`));
}

/** Retains unless the broker says that it does not, so that a value that is missing deletes nothing. */
function defaultPolicy({ keepData }: IBroker): RemovalPolicy {
  return keepData === false ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
}

/**
 * What an entity waits for that forwards to another one. Entities may forward in a circle, which `fromName` alone can
 * close: there, it waits for nothing, as such a forward is added in a later deployment.
 */
function unlessInCircle(name: string, destination: IQueue | ITopic): IDependable {
  const { broker, entityPath } = destination;
  const dependable = {};
  Dependable.implement(dependable, {
    get dependencyRoots() {
      const isNamed = declaringConstruct(broker, entityPath) !== destination;
      const isInCircle = isNamed && forwardsTo(broker, entityPath, name);
      return isInCircle ? [] : Dependable.of(destination).dependencyRoots;
    },
  });
  return dependable;
}

function withRules(rules: DeclaredEntity['rules']): object {
  const all = rules?.() ?? [];
  return all.length === 0 ? {} : { rules: all };
}

type Destinations = readonly (readonly [(typeof FORWARDING)[number], IQueue | ITopic])[];

function destinationsOf(at: string, broker: IBroker, props: DeliveryProps): Destinations {
  return FORWARDING.flatMap((setting) => {
    const destination: unknown = props[setting];
    if (destination === undefined) return [];
    if (!isDestination(destination)) {
      throw new SettingsError([
        `${at}: ${setting}: It must be a Queue or a Topic of dynabus, or one by fromName, and not ${whatIs(destination)}.`,
      ]);
    }
    if (!isSame(destination.broker, broker)) {
      throw new SettingsError([
        `${at}: ${setting}: ${destination.node.path} is in another broker; messages are forwarded within one broker only: if both constructs describe the same one, refer to the destination by fromName of ${broker.node.path}.`,
      ]);
    }
    return [[setting, destination] as const];
  });
}

/** An app may describe a broker of another app twice, for instance in two stacks. */
function isSame(one: IBroker, other: IBroker): boolean {
  return one === other || one.entityServiceToken === other.entityServiceToken;
}

function settingsOf(
  props: DeclaredEntity['props'],
  destinations: Destinations,
): Readonly<Record<string, unknown>> {
  const forwards = Object.fromEntries(
    destinations.map(([setting, { entityPath }]) => [setting, entityPath]),
  );
  const own = Object.entries(props).filter(
    ([name, value]) => value !== undefined && !NO_SETTINGS.includes(name),
  );
  return { ...Object.fromEntries(own), ...forwards };
}

/** What the service refuses about the destinations of an entity. */
function requireMayForward(
  at: string,
  { name, description }: { readonly name: string; readonly description: EntityDescription },
  destinations: Destinations,
): void {
  const path = parseEntityPath(name);
  for (const [setting, destination] of destinations) {
    try {
      if (destination.entityPath.toLowerCase() === path.key) {
        throw new SettingsError([`${at}: ${setting}: An entity cannot forward to itself.`]);
      }
      // With this destination alone, so that its fault has the name of its own.
      requireForwardingElsewhere(path, {
        ...SUBSCRIPTION_DEFAULTS,
        [setting]: destination.entityPath,
      });
      if (setting === 'forwardTo') {
        requireSessionsMayForward(description, isTopic(destination) ? 'topic' : 'queue');
      }
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      throw new SettingsError([`${at}: ${setting}: ${error.message}`]);
    }
  }
}
