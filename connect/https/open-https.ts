import { BackgroundWork } from '../../shared/app/background-work.ts';
import { processResources } from '../../shared/app/namespace-settings.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { reportBackgroundFault, reportFault } from '../../shared/app/report-fault.ts';
import type { NamespaceKeys } from '../../shared/auth/namespace-keys.ts';
import { TokenCache } from '../../shared/auth/token-cache.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import { HEALTH_PATH } from '../../shared/domain/health-path.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Upstream } from '../upstream.ts';
import { Caller } from './calls/caller.ts';
import { placeOf } from './calls/place.ts';
import { SUCCESS } from './calls/success.ts';
import { RemoteEntities } from './entities.ts';
import type { HttpsOptions } from './https-options.ts';
import { createRemoteBroker } from './remote-broker.ts';
import { remoteRules } from './rules.ts';

/** What is there beside the namespace: time and randomness. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly random: RandomSource;
}

const REAL: Surroundings = {
  scheduler: realScheduler,
  clock: { now: () => Date.now() },
  random: realRandom,
};

/** Opens a namespace over its HTTP interface. Throws ConnectionStringError, EndpointError. */
export function openHttps(options: HttpsOptions, surroundings: Surroundings = REAL): Upstream {
  const { clock, random, scheduler } = surroundings;
  const place = placeOf(options);
  const caller = new Caller({ ...place, scheduler });
  const entities = new RemoteEntities(caller, scheduler);
  const background = new BackgroundWork(reportBackgroundFault);
  const broker = createRemoteBroker({
    caller,
    entities,
    clock,
    random,
    scheduler,
    background: (work) => background.add(work),
    sendsOnce: options.sendsOnce ?? false,
  });
  return {
    dependencies: {
      ...surroundings,
      ...processResources(scheduler),
      broker,
      entities,
      knowsNoEntityRules: true,
      rules: remoteRules(caller, clock),
      requireUpstream: (path, rights) => entities.require(path, rights),
      namespaceKeys: NO_KEYS,
      tokens: new TokenCache(new AgeClock(clock, scheduler.now)),
      tokenClock: clock,
      namespace: new URL(place.address).host,
      reportFault,
    },
    reach: async () => {
      const path = HEALTH_PATH.slice(1);
      await caller.call({ method: 'GET', path, success: SUCCESS.json, isRepeatable: true });
    },
    wake: () => {},
    idle: () => background.settled(),
    close: () => background.settled(),
  };
}

/** Clients that need a key here get it from who composes the server. */
const NO_KEYS: NamespaceKeys = { rules: async () => [] };
