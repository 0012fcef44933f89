import {
  loadConfig,
  NODE_REGION_CONFIG_FILE_OPTIONS,
  NODE_REGION_CONFIG_OPTIONS,
} from '@smithy/core/config';

/** The region of this process, by AWS_REGION or the profile; undefined if neither names one. */
export async function processRegion(): Promise<string | undefined> {
  try {
    const region = await loadConfig(NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS)();
    return region || undefined;
  } catch {
    return undefined;
  }
}
