import type { Management } from '../../shared/broker/management/management.ts';
import type { NamespaceConfig } from '../../shared/config/namespace-config.ts';
import { applyConfig } from '../config/apply-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { parseAnyConfig } from '../config/parse.ts';

/** Creates the entities of a configuration in a namespace. Throws an error that `isRefusal` knows if it cannot. */
export type ApplyConfig = (management: Management) => Promise<void>;

/** Reads the configurations that clients send. */
export interface ConfigPort {
  /** Reads a parsed JSON document. Throws an error that `isRefusal` knows if it describes no entities. */
  readonly parse: (body: unknown) => ApplyConfig;
  /** Whether an error tells the user what is wrong with the configuration. */
  readonly isRefusal: (error: unknown) => boolean;
}

/** Reads configurations in the format of the vendor's emulator, and in the short form. */
export const CONFIG: ConfigPort = {
  parse: (body) => applying(parseAnyConfig(body)),
  isRefusal: (error) => error instanceof ConfigError,
};

/** Applies a configuration that was read already. */
export function applying(config: NamespaceConfig): ApplyConfig {
  return async (management) => {
    await applyConfig(management, config);
  };
}
