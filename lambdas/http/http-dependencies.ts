import type { SurfaceDependencies } from '../../shared/app/surface-dependencies.ts';
import type { SigningRule } from '../../shared/auth/signing-rule.ts';

/** The settings of the HTTP surface alone. */
export interface HttpOptions {
  /** The longest wait of a receive for a message, ms; short in a function, whose waiting is billed. */
  readonly receiveWaitMsMax: number;
  /** The most bytes of the printed messages in one response; absent = unlimited. */
  readonly answerBytesMax?: number | undefined;
  /** Called with the rule that granted a request its right, before the request is counted for the rule. */
  readonly onAuthorized?: ((request: Request, rule: SigningRule) => void) | undefined;
}

/** The dependencies of the HTTP routes. */
export interface HttpDependencies extends SurfaceDependencies, HttpOptions {}

/** Adds the HTTP settings to the dependencies that all surfaces share. */
export function httpDependencies<Dependencies extends SurfaceDependencies>(
  dependencies: Dependencies,
  { receiveWaitMsMax, answerBytesMax, onAuthorized }: HttpOptions,
): Dependencies & HttpDependencies {
  return { ...dependencies, receiveWaitMsMax, answerBytesMax, onAuthorized };
}
