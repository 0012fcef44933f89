import assert from 'node:assert/strict';
import { ConfigError } from '../../../local/config/config-error.ts';

/** The faults of the ConfigError that `work` throws, one a line of its message; none if it throws nothing. */
export function faultsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.message, error.faults.join('\n'));
    return error.faults;
  }
  return [];
}
