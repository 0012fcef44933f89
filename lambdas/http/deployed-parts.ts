import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AgeClock } from '../../shared/domain/age.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { realScheduler } from './real-scheduler.ts';
import { reportFault } from './report-fault.ts';
import { rememberRootKey } from './root-key.ts';
import { type Environment, readHttpSettings, readTableNames } from './settings.ts';
import { unlogged } from './unlogged.ts';

const CLOCK: Clock = { now: () => Date.now() };
const AGES = new AgeClock(CLOCK, realScheduler.now);
const RANDOM: RandomSource = { bytes: (count) => randomBytes(count) };

/** What the SDK keeps open at most unless it is told otherwise: plenty for one function. */
const SOCKETS_MAX = 50;

/** What everything that is deployed is composed of: tables, time and chance. */
export function deployedParts(environment: Environment, socketsMax = SOCKETS_MAX) {
  return {
    client: unlogged(new DynamoDBClient(bounded(socketsMax))),
    tables: readTableNames(environment),
    clock: CLOCK,
    random: RANDOM,
    soleProcess: false,
  };
}

/** What that is composed of which answers clients. */
export function deployedHttpParts(environment: Environment, socketsMax = SOCKETS_MAX) {
  const { namespace, tier, rootKeySecret, receiveWaitMsMax } = readHttpSettings(environment);
  return {
    ...deployedParts(environment, socketsMax),
    namespace,
    tier,
    receiveWaitMsMax,
    rootKey: rootKeySecret === undefined ? noRootKey : rootKeyReader(rootKeySecret),
  };
}

/** The same for a function, whose answers Lambda bounds. */
export function functionParts(environment: Environment) {
  return { ...deployedHttpParts(environment), answerBytesMax: LIMITS.answerBytes };
}

/**
 * How calls to AWS fail: soon, and then once more, so that three tries end before the client's
 * patience does. The SDK keeps connections open between calls by itself.
 */
function bounded(maxSockets: number) {
  const agent = { keepAlive: true, maxSockets };
  return {
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 1000,
      requestTimeout: 5000,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  };
}

/** Where IAM decides, there is no root key; an empty one signs nothing. */
const noRootKey = async (): Promise<string> => '';

/** Reads the root key when it is first needed, and again from time to time. */
function rootKeyReader(secretId: string): () => Promise<string> {
  const secrets = new SecretsManagerClient(bounded(SOCKETS_MAX));
  const read = async () => {
    const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
    if (!SecretString) throw new Error('The secret of the root key is empty.');
    return SecretString;
  };
  return rememberRootKey({ read, ages: AGES, reportFault });
}
