import { ACCESS_KINDS, type AccessKind } from '../auth/access-kinds.ts';
import type { Tier } from '../domain/entities/tier.ts';
import type { TableNames } from '../storage/schema/tables.ts';
import { ENDPOINTS, TIERS, VARIABLES } from './variables.ts';

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings that the deployment gives to the functions and tasks that serve HTTP. */
export interface HttpSettings {
  readonly namespace: string;
  readonly tier: Tier;
  /** The ARN of the secret that holds the root key; undefined with access=iam. */
  readonly rootKeySecret: string | undefined;
  /** The longest wait of a receive, ms. */
  readonly receiveWaitMsMax: number;
}

/** Reads the names of the tables. Throws Error where one is missing. */
export function readTableNames(environment: Environment): TableNames {
  return {
    entities: required(environment, VARIABLES.entitiesTable),
    messages: required(environment, VARIABLES.messagesTable),
  };
}

/** Reads the name of the namespace. Throws Error where it is missing. */
export function readNamespace(environment: Environment): string {
  return required(environment, VARIABLES.namespace);
}

/**
 * Reads how callers are authorized; default: by shared access signatures. Throws Error for an unknown
 * value.
 */
export function readAccess(environment: Environment): AccessKind {
  return oneOf(environment, VARIABLES.access, ACCESS_KINDS, 'sas');
}

/** Reads what passes requests on to a function; default: API Gateway. Throws Error for an unknown value. */
export function readEndpoint(environment: Environment): (typeof ENDPOINTS)[number] {
  return oneOf(environment, VARIABLES.endpoint, ENDPOINTS, 'apiGateway');
}

/** Reads the settings of a process that serves HTTP. Throws Error where one is missing or invalid. */
export function readHttpSettings(environment: Environment): HttpSettings {
  return {
    namespace: readNamespace(environment),
    tier: readTier(environment),
    rootKeySecret:
      readAccess(environment) === 'iam'
        ? undefined
        : required(environment, VARIABLES.rootKeySecret),
    receiveWaitMsMax: wholeNumber(environment, VARIABLES.receiveWaitMsMax),
  };
}

/** Reads the start of the names of parameters with connection strings. Throws Error where it is missing. */
export function readParameterPrefix(environment: Environment): string {
  return required(environment, VARIABLES.parameterPrefix);
}

/** Whether the stage has a function that pushes. */
export function hasPush(environment: Environment): boolean {
  return environment[VARIABLES.pushFunction] !== undefined;
}

/** Reads the name of the function that pushes. Throws Error where it is missing. */
export function readPushFunction(environment: Environment): string {
  return required(environment, VARIABLES.pushFunction);
}

/** Reads the ARNs of functions that any consumer may have as its target; undefined in a stage without consumers. */
export function readPushTargets(environment: Environment): readonly string[] | undefined {
  if (!hasPush(environment)) return undefined;
  return (environment[VARIABLES.pushTargets] ?? '').split(' ').filter((arn) => arn !== '');
}

/** Reads the tier of the namespace; default: Standard. Throws Error for an unknown value. */
export function readTier(environment: Environment): Tier {
  return oneOf(environment, VARIABLES.tier, TIERS, 'Standard');
}

/** Reads a variable that is one of a few words. Throws Error for any other word. */
function oneOf<Word extends string>(
  environment: Environment,
  name: string,
  words: readonly Word[],
  standard: Word,
): Word {
  const value = environment[name] ?? standard;
  const word = words.find((each) => each === value);
  if (word === undefined) throw new Error(`The variable ${name} has an unknown value: ${value}`);
  return word;
}

/** Reads a required variable. A process without it must not start, because it would respond incorrectly. */
function required(environment: Environment, name: string): string {
  const value = environment[name];
  if (value === undefined || value === '') throw new Error(`The variable ${name} is not set.`);
  return value;
}

/** Reads a required variable that is a whole number. Throws Error where it is missing or not one. */
export function wholeNumber(environment: Environment, name: string): number {
  const value = required(environment, name);
  if (!/^\d+$/.test(value)) throw new Error(`The variable ${name} is not a whole number: ${value}`);
  return Number(value);
}
