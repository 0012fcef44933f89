import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { type RootKeySource, rememberRootKeys } from '../auth/root-key.ts';
import { AgeClock } from '../domain/age.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import { LIMITS } from '../domain/limits.ts';
import { realScheduler } from './real-scheduler.ts';
import { reportFault } from './report-fault.ts';
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
    rootKey: rootKeySecret === undefined ? NO_ROOT_KEY : rootKeysIn(rootKeySecret),
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
const NO_ROOT_KEY = '';

/**
 * The root keys in a secret: its current version is the primary key, the one before it the secondary. Two
 * calls of Secrets Manager each time they are read.
 */
function rootKeysIn(secretId: string): RootKeySource {
  const secrets = new SecretsManagerClient(bounded(SOCKETS_MAX));
  const versionAt = async (stage: 'AWSCURRENT' | 'AWSPREVIOUS') => {
    const command = new GetSecretValueCommand({ SecretId: secretId, VersionStage: stage });
    return (await secrets.send(command)).SecretString;
  };
  const read = async () => {
    const primary = await versionAt('AWSCURRENT');
    if (!primary) throw new Error('The secret of the root key is empty.');
    // Read after it: a key that is put in between must not make us miss the one that it replaces.
    const secondary = await versionAt('AWSPREVIOUS').catch(undefinedIfMissing);
    return { primary, secondary: secondary || primary };
  };
  return rememberRootKeys({ read, ages: AGES, reportFault });
}

/** A secret that was never changed has no version before. Throws every other error again. */
function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
}
