import { startEngine } from '../../local/engine/engine.ts';
import type { EngineKind } from '../../local/engine/engine-recipes.ts';
import { StartupError } from '../../local/startup-error.ts';
import type { EngineRole } from './groups.ts';
import { enginesVariable, type TestEngine } from './test-engines.ts';

/** The engines of a test run. */
export interface StartedEngines {
  /** The names to print. */
  readonly names: string;
  /** Environment variables by which test processes find the engines. */
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const KINDS: Readonly<Record<EngineRole, EngineKind>> = {
  judge: 'dynamodb-local',
  quick: 'dynoxide',
};
const OTHER_ROLE: Readonly<Record<EngineRole, EngineRole>> = { judge: 'quick', quick: 'judge' };

/**
 * Starts the engines that tests need. If the environment names an engine, or only one of the two can run here,
 * it serves all tests. `isExchanged` swaps the two engines. Throws StartupError.
 */
export async function startTestEngines(
  roles: ReadonlySet<EngineRole>,
  isExchanged: boolean,
): Promise<StartedEngines> {
  const { DYNAMODB_ENDPOINT, DYNABUS_ENGINE } = process.env;
  if (DYNAMODB_ENDPOINT || DYNABUS_ENGINE) return await startOne();
  const started = await Promise.allSettled(
    [...roles].map(async (role) => {
      const kind = KINDS[isExchanged ? OTHER_ROLE[role] : role];
      return { role, kind, engine: await startEngine({ kind }) };
    }),
  );
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async () => {
    await Promise.all(running.map(({ engine }) => engine.stop()));
  };
  if (running.length < roles.size) {
    await stop();
    const { reason } = started.find((one) => one.status === 'rejected') ?? {};
    if (!(reason instanceof StartupError)) throw reason;
    return await startOne();
  }
  const engineOf = (wanted: EngineRole): TestEngine | undefined => {
    const found = running.find(({ role }) => role === wanted);
    return found && { endpoint: found.engine.endpoint, kind: found.kind };
  };
  return {
    names: running.map(({ engine }) => engine.name).join(' and '),
    variables: enginesVariable({ judge: engineOf('judge'), quick: engineOf('quick') }),
    stop,
  };
}

async function startOne(): Promise<StartedEngines> {
  const engine = await startEngine();
  const { endpoint, name } = engine;
  const kind = engine.startedHere ? process.env['DYNABUS_ENGINE'] : undefined;
  return {
    names: name,
    variables: enginesVariable({ judge: { endpoint, kind }, quick: { endpoint, kind } }),
    stop: () => engine.stop(),
  };
}
