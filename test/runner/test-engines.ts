import type { EngineRole } from './groups.ts';

/** A running engine, as test processes get it. */
export interface TestEngine {
  readonly endpoint: string;
  /** Absent if the run did not start the engine, or if it is the only one that can run. */
  readonly kind?: string | undefined;
}

/** The engines that the tests of a run need. */
export type TestEngines = Readonly<Partial<Record<EngineRole, TestEngine | undefined>>>;

const VARIABLE = 'DYNABUS_TEST_ENGINES';

/** The environment variable with the kind of the engine at `DYNAMODB_ENDPOINT`. */
export const KIND_VARIABLE = 'DYNABUS_TEST_ENGINE_KIND';

/** The environment variables that give test processes their engines. */
export function enginesVariable(engines: TestEngines): Readonly<Record<string, string>> {
  return { [VARIABLE]: JSON.stringify(engines) };
}

/** The engines of this run; undefined in a process that `npm test` did not start. */
export function testEngines(): TestEngines | undefined {
  const text = process.env[VARIABLE];
  return text === undefined ? undefined : JSON.parse(text);
}
