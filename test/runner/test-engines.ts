import type { EngineRole } from './groups.ts';

/** A running engine, as processes of tests hear of it. */
export interface TestEngine {
  readonly endpoint: string;
  /** Absent where the engine was started by others, or is the only one that can run. */
  readonly kind?: string | undefined;
}

/** Those that the tests of a run need. */
export type TestEngines = Readonly<Partial<Record<EngineRole, TestEngine | undefined>>>;

const VARIABLE = 'DYNABUS_TEST_ENGINES';

/** The variable of the environment that names the kind of the engine at `DYNAMODB_ENDPOINT`. */
export const KIND_VARIABLE = 'DYNABUS_TEST_ENGINE_KIND';

/** The variable of the environment that tells processes of tests their engines. */
export function enginesVariable(engines: TestEngines): Readonly<Record<string, string>> {
  return { [VARIABLE]: JSON.stringify(engines) };
}

/** The engines of this run; undefined in a process that `npm test` has not started. */
export function testEngines(): TestEngines | undefined {
  const text = process.env[VARIABLE];
  return text === undefined ? undefined : JSON.parse(text);
}
