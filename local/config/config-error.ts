import type { Faults } from '../../shared/config/faults.ts';
import { StartupError } from '../startup-error.ts';

/**
 * A configuration that cannot be used. The message has a line for each fault, with the path of what is wrong and a
 * sentence that says what is allowed; it is shown without a stack trace.
 */
export class ConfigError extends StartupError {
  /** The lines about the faults; the last one may be the number of those left out. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[], heading?: string) {
    super([...(heading === undefined ? [] : [heading]), ...faults].join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** Throws a ConfigError with all faults, if there are any. */
export function throwIfAny({ lines }: Faults): void {
  if (lines.length > 0) throw new ConfigError(lines);
}
