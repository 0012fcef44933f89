/** The limits of a configuration. Its entities have those of the service as well. */
export const CONFIG_LIMITS = {
  /** Queues, topics and subscriptions together. */
  entities: 2000,
  /** Rules of all subscriptions together. */
  rules: 10_000,
  /** Bytes of a file, which is parsed in memory. */
  fileBytes: 8 * 1024 * 1024,
  /** Objects and lists within each other in a file. The parser recurses, so this bounds its stack. */
  depth: 64,
  /** Faults that an error lists; it says how many more there are. */
  faults: 25,
  /** Entities that are created or updated at the same time. */
  width: 16,
  /**
   * Rules of all subscriptions together that are changed at the same time. Each change waits until leases have ended,
   * and no two write the same item, so this decides how long many rules take.
   */
  ruleWidth: 128,
} as const;
