const KB = 1024;
const MB = 1024 * KB;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/**
 * What a peer may have a process hold and do, before it has proved a right and after: every bound of
 * memory, work and time that is kept against hostile input. docs/security.md shows the table. Limits
 * of Service Bus that honest clients meet are in `limits.ts`, those of filters in
 * `shared/filters/filter-limits.ts`. Sizes in bytes unless the name says otherwise.
 */
export const BUDGETS = {
  /** One connection over AMQP. A right is proved by a token or key that a rule has signed. */
  connection: {
    beforeRight: {
      sessions: 16,
      links: 16,
      /** What is kept of links and sessions, and of messages on their way in and out. */
      heldBytes: 512 * KB,
      /** One request to `$cbs` or `$management`. */
      requestBytes: 64 * KB,
      /** Values in one such request. */
      requestValues: 1000,
    },
    afterRight: {
      sessions: 5000,
      links: 20_000,
      heldBytes: 128 * MB,
      requestBytes: 2 * MB,
      requestValues: 50_000,
    },
    /** How long a client may take to prove a right, ms. */
    proveRightMs: 60_000,
    /** How long a client may take to its first bytes, within TLS, and from there to the open, ms. */
    firstBytesMs: 30_000,
    handshakeMs: 30_000,
    /** One frame once the connection is open, told in the open. */
    frameBytes: 64 * KB,
    /** One frame before the connection is open: a choice of a mechanism, an open. */
    openFrameBytes: 8 * KB,
    /** Values in one performative, which clients write with fewer than a hundred. */
    performativeValues: 1000,
    /** Links of one session, told in the begin. */
    sessionLinks: 1024,
    /** Messages that came in and have no outcome: with more, nothing is read. */
    incomingBytes: 4 * MB,
    /** The same where the process has little room left. */
    incomingBytesMin: 64 * KB,
    /** The part of the process's free room that these messages of one connection may take. */
    incomingShareOfFree: 0.25,
    /** What open transactions hold. */
    transactionBytes: 16 * MB,
    /** Transactions that are open, and operations of one; the broker's own limits are lower. */
    transactions: 100,
    transactionOperations: 1000,
    /** How long a transaction may be open, from its declaration on, ms. */
    transactionMs: 2 * MINUTE_MS,
    /** One request to the coordinator. */
    transactionRequestBytes: 4 * KB,
    /** What the peer has not taken: with more, nothing is read. */
    untakenBytes: 16 * MB,
    /** The same: with more, no messages are received for it. */
    untakenBytesForMessages: 8 * MB,
    /** Messages and ends of links of one session that wait for the peer to open its window. */
    waitingForWindow: 100_000,
    /** Answers of `$cbs` and `$management` on one link that wait for credit; the oldest makes room. */
    waitingAnswers: 500,
    /** One message of a WebSocket. */
    webSocketMessageBytes: 1 * MB,
    /** What may come in after the close before the connection is cut. */
    ignoredBytes: 16 * MB,
    /** Frames that are handled before others have their turn. */
    turnFrames: 200,
    /** AMQP's own parts of messages that are written before others have their turn. */
    turnBytes: 128 * KB,
    /** Deliveries looked through for a disposition that count as much as a frame. */
    deliveriesPerFrame: 100,
    /** Tokens that are kept, of all together. The one that was put longest ago makes room. */
    tokens: 2000,
    tokenBytes: 1 * MB,
    /** Tokens and keys that were refused, over AMQP or HTTP: then the connection is closed. */
    refusals: 20,
    /** So many are answered at once, the others after a pause, ms. */
    refusalsAtOnce: 5,
    refusalPauseMs: 200,
  },
  /** What things are counted as, beside their bytes. */
  weights: {
    connectionBytes: 16 * KB,
    sessionBytes: 2 * KB,
    linkBytes: 2 * KB,
    /** A message that came in, or went out and is not settled. */
    deliveryBytes: 256,
    /** One decoded AMQP value. */
    valueBytes: 64,
    /** A request over HTTP that is not answered. */
    requestBytes: 16 * KB,
  },
  /** One message over AMQP, or all of one batch together. */
  delivery: {
    /** Values that are decoded, each of which takes 40 to 100 bytes: at most 60 ms and 26 MB. */
    values: 250_000,
  },
  /** One AMQP value. */
  value: {
    /** Values within values. */
    depth: 32,
    /** Elements of an array that take no bytes: their count alone would cost memory. */
    emptyElements: 1024,
  },
  /** One request over HTTP. Whoever makes it has proved a right to it, unless it says otherwise. */
  request: {
    /** Fields of a head whose wish for another protocol is ignored; node:http reads no more of any. */
    headerFields: 1000,
    /** Requests that came on one connection and wait until those before them are answered. */
    pipelined: 64,
    /** A body up to here is counted as announced, a larger one as it comes in. */
    wholeBytes: 64 * KB,
    /** Chunks in which a larger one comes in: so many, and one more for each `chunkBytes`. */
    chunks: 10_000,
    chunkBytes: 256,
    /** What is taken in of a body ahead of its reader; a chunk of one byte takes a hundred. */
    aheadBytes: 4 * KB,
    /**
     * A transaction, as much as the largest request that a function is given; one whose token proves no
     * right may have `connection.beforeRight.requestBytes`.
     */
    transactionBytes: 6 * MB,
    /** JSON that names or settles messages. */
    namesBytes: 1 * MB,
    settlementsBytes: 14 * MB,
    /** A batch in JSON, whatever its entity takes. */
    batchBytes: 8 * MB,
    /** JSON for each byte of messages in a batch: every character may be written as an escape. */
    batchBytesPerByte: 6,
    /** The names of fields, and properties that do not count as bytes of a message. */
    batchExtraBytes: 2 * MB,
    /** What any JSON may hold. */
    jsonValues: 200_000,
    jsonDepth: 64,
    /** Fields of one object. */
    jsonFields: 1000,
    /** Memory for each byte of a body, with the copies that are made of it. */
    heldPerByte: 2,
    heldPerJsonByte: 5,
    heldPerXmlByte: 20,
    /** Deferred messages that are received together by their numbers; one alone may be larger. */
    deferredBytes: 32 * MB,
    /** Copies that one send to a topic makes for all subscriptions: 50 to 100 bytes each until it is stored. */
    copies: 500_000,
  },
  stored: {
    /** What a publication to many subscriptions writes down before it begins, before it is compressed. */
    intentBytes: 16 * MB,
    /** What compressed bytes of the database may come to: the largest message, kept for AMQP and as JSON. */
    decompressedBytes: 256 * MB,
  },
  tokens: {
    /** Characters of one token. */
    bytes: 8 * KB,
    /** What a process remembers of tokens whose signature it has checked, bytes. */
    provenBytes: 4 * MB,
    /** Entities that are known to be missing, for tokens that no rule of the namespace has signed. */
    missing: 1000,
    missKeptMs: 2000,
  },
  process: {
    /** Of the limit of the heap: what all peers together may hold that have proved a right. */
    heldShareOfHeap: 0.5,
    /** Of that, beside it: what all others together may hold. */
    heldShareBeforeRight: 0.125,
    /** Connections over AMQP that have proved no right; with more, the oldest is closed. */
    connectionsBeforeRight: 1000,
    /** Connections over HTTP, or that have not shown what they speak, that have proved none; the same. */
    otherConnectionsBeforeRight: 2000,
    /** Requests over HTTP at the gateway of a deployment; as many as its API Gateway lets through. */
    requests: { perSecond: 2000, burst: 1000 },
    /** Lines of the gateway's access log; those beyond are left out, and counted. */
    accessLines: { perSecond: 500, burst: 5000 },
  },
  /** One client address at the gateway of a deployment, in each of its processes. */
  address: {
    /** The PROXY header in which the load balancer says who the client is. */
    proxyHeaderBytes: 536,
    /** Connections that are open at once. */
    openConnections: 2000,
    /** Connections that begin. All clients behind one address may have to connect again at once. */
    newConnections: { perSecond: 100, burst: 2000 },
    /** Requests over HTTP. */
    requests: { perSecond: 1000, burst: 2000 },
    /** As so many requests counts one that proved no right. */
    refusedAsRequests: 10,
  },
  /** One rule of shared access signatures at the gateway of a deployment, in each of its processes. */
  rule: {
    /** Requests, links, and groups of messages that are sent or received: whatever a right is checked for. */
    operations: { perSecond: 1000, burst: 2000 },
  },
  /** Addresses, and rules, of which a process knows how much they did lately. */
  rateBuckets: 10_000,
  /** The root key that a deployment reads from its secret. */
  rootKey: {
    /** A key that was changed is known everywhere after this long. */
    readAgainMs: 5 * MINUTE_MS,
    /** So long after it was last read a key is used while it cannot be read again. */
    keptMs: 60 * MINUTE_MS,
    /** Time between two attempts once it is used no more: strangers decide how many requests come. */
    retryMs: 10 * SECOND_MS,
  },
  /** One evaluation of a rule, beside the limits of the language in shared/filters/filter-limits.ts. */
  filter: {
    /** One LIKE whose pattern is computed: characters of the text, by 31 characters of the pattern. */
    likeSteps: 256 * KB,
  },
  /** Work for one request goes on this long, ms, before the work of others has its turn. */
  turnMs: 20,
  /** One description of an entity or rule as XML. Its work is linear in these. */
  xml: {
    /** Far above any description: the largest hold twelve keys, or values up to 64 KB. */
    bytes: 128 * KB,
    /** The deepest description is nine deep. */
    depth: 32,
    /** More than parameters of a filter make where they fill all the bytes. */
    elements: 5000,
    /** Declarations of namespaces included. */
    attributes: 10_000,
    /** Of namespaces, in force at one element. The vendor's clients have six. */
    declarations: 32,
  },
  /** What only the local server has. */
  localServer: {
    /** A request that moves the clock; it needs no right. */
    clockRequestBytes: 1 * KB,
  },
} as const;
