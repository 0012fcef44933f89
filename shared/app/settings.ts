import { ACCESS_KINDS, type AccessKind } from '../auth/access-kinds.ts';
import type { Tier } from '../domain/entities/tier.ts';
import type { TableNames } from '../storage/schema/tables.ts';
import { TIERS, VARIABLES } from './variables.ts';

/** The environment of a function. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What deployment tells the functions that answer HTTP. */
export interface HttpSettings {
  readonly namespace: string;
  readonly tier: Tier;
  /** ARN of the secret that holds the root key; absent where IAM stands in place of keys. */
  readonly rootKeySecret: string | undefined;
  readonly receiveWaitMsMax: number;
}

/** The names of the tables; every function has them. */
export function readTableNames(environment: Environment): TableNames {
  return {
    entities: required(environment, VARIABLES.entitiesTable),
    messages: required(environment, VARIABLES.messagesTable),
  };
}

/** The namespace that a function serves. */
export function readNamespace(environment: Environment): string {
  return required(environment, VARIABLES.namespace);
}

/** Who says what a caller of a function may do; tokens do unless deployment says otherwise. */
export function readAccess(environment: Environment): AccessKind {
  const value = environment[VARIABLES.access] ?? 'sas';
  const kind = ACCESS_KINDS.find((one) => one === value);
  if (kind === undefined) throw new Error(`The variable ${VARIABLES.access} is odd: ${value}`);
  return kind;
}

/** The settings of a function that answers HTTP. */
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

/** The tier of the namespace; Standard unless deployment says otherwise. */
function readTier(environment: Environment): Tier {
  const value = environment[VARIABLES.tier] ?? 'Standard';
  const tier = TIERS.find((one) => one === value);
  if (tier === undefined) throw new Error(`The variable ${VARIABLES.tier} is odd: ${value}`);
  return tier;
}

/** A function without its settings must not start: better no answers than odd ones. */
function required(environment: Environment, name: string): string {
  const value = environment[name];
  if (value === undefined || value === '') throw new Error(`The variable ${name} is not set.`);
  return value;
}

/** A setting that is a number; there must be one. */
export function wholeNumber(environment: Environment, name: string): number {
  const value = required(environment, name);
  if (!/^\d+$/.test(value)) throw new Error(`The variable ${name} is no whole number: ${value}`);
  return Number(value);
}
