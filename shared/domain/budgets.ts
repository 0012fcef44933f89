const KB = 1024;
const MB = 1024 * KB;

/**
 * What a peer may have a process hold and do, before it has proved a right and after. Every bound of
 * hostile input stands here; docs/security.md shows the table. Sizes in bytes unless the name says
 * otherwise.
 */
export const BUDGETS = {
  /** One connection over AMQP. A right is proved by a token or key that a rule has signed. */
  connection: {
    beforeRight: {
      sessions: 16,
      links: 16,
      /** What links keep of their attaches, messages that have not ended, requests under way. */
      heldBytes: 512 * KB,
      /** One request to `$cbs` or `$management`. */
      requestBytes: 64 * KB,
    },
    afterRight: {
      sessions: 5000,
      links: 20_000,
      heldBytes: 64 * MB,
      requestBytes: 2 * MB,
    },
  },
  process: {
    /** Of the limit of the heap: what all peers together may hold. */
    heldShareOfHeap: 0.5,
  },
} as const;
