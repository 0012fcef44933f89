import type { Management } from '../../shared/broker/management/management.ts';
import { applyConfig } from '../config/apply/apply-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { parseAnyConfig } from '../config/parse.ts';

/** Creates the entities that a configuration describes. */
export interface ConfigPort {
  /** Throws an error that `isRefusal` knows if the body describes no entities. */
  readonly apply: (management: Management, body: unknown) => Promise<void>;
  /** Whether an error tells the user what is wrong with the configuration. */
  readonly isRefusal: (error: unknown) => boolean;
}

/** For a server that reads no configurations. */
export const NO_CONFIG: ConfigPort = {
  apply: async () => {
    throw new UnreadConfig('This server reads no configurations. Create the entities one by one.');
  },
  isRefusal: (error) => error instanceof UnreadConfig,
};

class UnreadConfig extends Error {
  override readonly name = 'UnreadConfig';
}

export const READ_CONFIG: ConfigPort = {
  apply: async (management, body) => {
    await applyConfig(management, (body as any).entities ? (body as any) : parseAnyConfig(body));
  },
  isRefusal: (error) => error instanceof ConfigError,
};
