import type { TableNames } from '../../shared/storage/table-schema.ts';
import { VARIABLES } from './variables.ts';

/** The environment of a function. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What deployment tells the functions that answer HTTP. */
export interface HttpSettings {
  readonly namespace: string;
  /** ARN of the secret that holds the root key. */
  readonly rootKeySecret: string;
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

/** The settings of a function that answers HTTP. */
export function readHttpSettings(environment: Environment): HttpSettings {
  return {
    namespace: readNamespace(environment),
    rootKeySecret: required(environment, VARIABLES.rootKeySecret),
    receiveWaitMsMax: wholeNumber(environment, VARIABLES.receiveWaitMsMax),
  };
}

/** A function without its settings must not start: better no answers than odd ones. */
function required(environment: Environment, name: string): string {
  const value = environment[name];
  if (value === undefined || value === '') throw new Error(`The variable ${name} is not set.`);
  return value;
}

function wholeNumber(environment: Environment, name: string): number {
  const value = required(environment, name);
  if (!/^\d+$/.test(value)) throw new Error(`The variable ${name} is no whole number: ${value}`);
  return Number(value);
}
