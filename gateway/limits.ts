import type { ConnectionRates } from '../server/address-limits.ts';
import type { Environment } from '../shared/app/settings.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { Rate } from '../shared/domain/budgets/rate-limit.ts';
import { GATEWAY_VARIABLES } from './variables.ts';

/** The limits for clients of one task. */
export interface TaskLimits extends ConnectionRates {
  readonly requestsOfAddress: Rate;
  readonly operationsOfRule: Rate;
  /** All requests over HTTP together. */
  readonly requests: Rate;
}

/** Reads the limits from the environment, with defaults for the rest. */
export function readLimits(environment: Environment): TaskLimits {
  const { address, process, rule } = BUDGETS;
  const rate = (name: keyof typeof GATEWAY_VARIABLES, usual: Rate) =>
    readRate(environment, GATEWAY_VARIABLES[name]) ?? usual;
  const openConnections = environment[GATEWAY_VARIABLES.openConnections];
  if (openConnections !== undefined && !/^\d+$/.test(openConnections)) {
    throw new Error(
      `The variable ${GATEWAY_VARIABLES.openConnections} is no whole number: ${openConnections}`,
    );
  }
  return {
    openConnections: Number(openConnections ?? address.openConnections),
    newConnections: rate('newConnections', address.newConnections),
    requestsOfAddress: rate('requestsOfAddress', address.requests),
    operationsOfRule: rate('operationsOfRule', rule.operations),
    requests: rate('requests', process.requests),
  };
}

function readRate(environment: Environment, name: string): Rate | undefined {
  const value = environment[name];
  if (value === undefined) return undefined;
  const [, perSecond, burst] = /^(\d+)\/(\d+)$/.exec(value) ?? [];
  if (perSecond === undefined || burst === undefined) {
    throw new Error(`The variable ${name} is no rate such as 100/2000: ${value}`);
  }
  return { perSecond: Number(perSecond), burst: Number(burst) };
}
