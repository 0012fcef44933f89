import type { SurfaceDependencies } from '../../shared/app/surface-dependencies.ts';
import type { ProvedRule } from '../../shared/auth/proved-rule.ts';

/** What applies to HTTP alone. */
export interface HttpOptions {
  /** The longest a receive may wait for a message, ms; short where waiting is paid for. */
  readonly receiveWaitMsMax: number;
  /** What the messages of one answer may take, bytes as printed; absent = any number. */
  readonly answerBytesMax?: number | undefined;
  /** Is told which rule gave a request a right, before the request's work is counted. */
  readonly ruleProved?: ((request: Request, rule: ProvedRule) => void) | undefined;
}

/** What the HTTP routes are built from. Handlers choose the real ones, tests those they move. */
export interface HttpDependencies extends SurfaceDependencies, HttpOptions {}

/** Adds to `dependencies` what the settings say of HTTP. */
export function httpDependencies<Dependencies extends SurfaceDependencies>(
  dependencies: Dependencies,
  { receiveWaitMsMax, answerBytesMax, ruleProved }: HttpOptions,
): Dependencies & HttpDependencies {
  return { ...dependencies, receiveWaitMsMax, answerBytesMax, ruleProved };
}
