import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { cacheRootKeys, type RootKeySource } from '../auth/root-key.ts';
import { AgeClock } from '../domain/age.ts';
import type { Clock } from '../domain/clock.ts';
import { LIMITS } from '../domain/limits.ts';
import { createLeanClient } from '../storage/dynamodb/lean-client.ts';
import { allowedTargets } from './allowed-targets.ts';
import { boundedClient, SOCKETS_MAX } from './bounded-client.ts';
import { LEASE_MS } from './leases.ts';
import type { WakingStores } from './namespace-settings.ts';
import { START_NONE, storedWakes } from './push/stored-wakes.ts';
import { realRandom } from './real-random.ts';
import { realScheduler } from './real-scheduler.ts';
import { reportFault } from './report-fault.ts';
import { type Environment, readHttpSettings, readPushTargets, readTableNames } from './settings.ts';

const CLOCK: Clock = { now: () => Date.now() };
const AGES = new AgeClock(CLOCK, realScheduler.now);

/**
 * The settings that all deployed processes share: client, tables, time and randomness. Consumers are told of messages,
 * but no worker is started.
 */
export function deployedSettings(environment: Environment, socketsMax = SOCKETS_MAX) {
  return {
    client: createLeanClient(boundedClient(socketsMax)),
    tables: readTableNames(environment),
    clock: CLOCK,
    random: realRandom,
    leaseMs: LEASE_MS.deployed,
    consumers: (stores: WakingStores) => storedWakes(stores, START_NONE),
  };
}

/**
 * The settings of a deployed process that serves clients. Throws Error where a variable is missing or
 * invalid.
 */
export function deployedHttpSettings(environment: Environment, socketsMax = SOCKETS_MAX) {
  const { namespace, tier, rootKeySecret, receiveWaitMsMax } = readHttpSettings(environment);
  const targets = readPushTargets(environment);
  return {
    ...deployedSettings(environment, socketsMax),
    namespace,
    tier,
    receiveWaitMsMax,
    ...(targets !== undefined && { push: allowedTargets(targets) }),
    rootKey: rootKeySecret === undefined ? NO_ROOT_KEY : rootKeysIn(rootKeySecret),
  };
}

/** The settings of a Lambda function that serves clients; Lambda limits the size of its responses. */
export function functionSettings(environment: Environment) {
  return { ...deployedHttpSettings(environment), answerBytesMax: LIMITS.answerBytes };
}

/** With access=iam there is no root key; an empty key signs no token. */
const NO_ROOT_KEY = '';

/**
 * The root keys in a secret: its current version is the primary key, the previous one the secondary. Each
 * read makes two calls to Secrets Manager.
 */
function rootKeysIn(secretId: string): RootKeySource {
  const secrets = new SecretsManagerClient(boundedClient(SOCKETS_MAX));
  const versionAt = async (stage: 'AWSCURRENT' | 'AWSPREVIOUS') => {
    const command = new GetSecretValueCommand({ SecretId: secretId, VersionStage: stage });
    return (await secrets.send(command)).SecretString;
  };
  const read = async () => {
    const primary = await versionAt('AWSCURRENT');
    if (!primary) throw new Error('The secret of the root key is empty.');
    // Read after the primary key: if a rotation happens in between, this is the key that it replaced.
    const secondary = await versionAt('AWSPREVIOUS').catch(undefinedIfMissing);
    return { primary, secondary: secondary || primary };
  };
  return cacheRootKeys({ read, ages: AGES, reportFault });
}

/** A secret that was never rotated has no previous version. Rethrows every other error. */
function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
}
