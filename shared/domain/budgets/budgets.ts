import { KB, MB, MINUTE_MS, SECOND_MS } from '../units.ts';
import { CONNECTION_BUDGETS } from './connection-budgets.ts';

/**
 * Every bound of memory, work and time that protects a process against hostile input. A peer is a connection
 * or a request. It is authorized, or "has proved a right", once it has presented a token or key that a rule has
 * signed and this rule grants a right; until then it is unauthorized.
 * docs/security.md shows these bounds as a table. The limits of Service Bus that honest clients can run into
 * are in `limits.ts`, those of filters in `shared/filters/filter-limits.ts`. Sizes in bytes, unless the name
 * says otherwise.
 *
 * A name `turn…` bounds what happens in one turn of the event loop before other work continues; `held…` is
 * memory that counts as held by a peer; `…Share…` is a fraction of another bound.
 */
export const BUDGETS = {
  connection: CONNECTION_BUDGETS,
  /** One WebSocket that carries AMQP. The received part of a message counts as held by its connection. */
  webSocket: {
    /** One message: the vendor's client for .NET puts several frames of 64 KB into one. */
    messageBytes: 1 * MB,
    /** Fragments of one message; the vendor's clients do not fragment. */
    fragments: 64,
    /** Chunks in which one fragment arrives. */
    chunks: 2048,
    /** Bytes that arrive before a message is complete: a peer may send pongs between its fragments. */
    unfinishedBytes: 2 * MB,
    /** Received bytes that are decoded before other work may have its turn. */
    turnBytes: 16 * KB,
  },
  /** The memory that objects count as, beside their contents. */
  weights: {
    connectionBytes: 16 * KB,
    sessionBytes: 2 * KB,
    linkBytes: 2 * KB,
    /** A received message, or one that was sent and is not settled. */
    deliveryBytes: 384,
    /**
     * A message during its settlement or the renewal of its lock, with its part of requests to the database.
     */
    settlementBytes: 2 * KB,
    /** One decoded AMQP value. */
    valueBytes: 64,
    /** One decoded AMQP value of a request, whose type the peer chooses: binary values take the most. */
    requestValueBytes: 144,
    /** A header field of an HTTP request that has no answer yet. */
    headerFieldBytes: 200,
    /** A message of an HTTP batch, or any message over AMQP, from parsing until it is stored. */
    sentMessageBytes: 1 * KB,
    /** The copy of a message for one subscription of a topic, with what it becomes until it is stored. */
    copyBytes: 300,
  },
  /** One message over AMQP, or all messages of one batch together. */
  delivery: {
    /**
     * Decoded values, each of which takes 40 to 100 bytes: at most 26 MB, and 60 ms. In Premium, a message of 4 MB may
     * hold as many uuids, of which the JSON takes up to half a second.
     */
    values: 250_000,
    /** A longer delivery is read in a turn of its own; a longer group of deliveries is also stored in one. */
    turnBytes: 16 * KB,
    /** Weight of a batch's byte in `turnBytes`, since a message in a batch may have five bytes only. */
    batchBytesPerByte: 4,
    /** Memory for each byte while it is read and stored, in addition to the received byte. */
    heldPerByte: 2,
    /** Bytes that the encoding of a delivery may add to the size of its messages. */
    encodingBytes: 64 * KB,
    /** Bytes that the encoding may add for each message of a schedule request. */
    encodingMessageBytes: 512,
    /**
     * Fraction of the process's limit for these copies of one connection; a single delivery may exceed it.
     */
    decodedShareOfProcess: 0.25,
    /** JSON of bodies that are not one data section, which other surfaces receive: any delivery may become as much. */
    shownBytes: 8 * MB,
    /** This JSON may be longer than `shownBytes` by so many bytes for each byte of the delivery. */
    shownPerByte: 2,
    /** Memory for each byte of this JSON, with its text. */
    heldPerShownByte: 2,
  },
  /** One AMQP value. */
  value: {
    /** Values within values. */
    depth: 32,
    /** Elements of an array that take no bytes: their count alone would cost memory. */
    emptyElements: 1024,
  },
  /** One HTTP request. These bounds are for authorized requests, unless they say otherwise. */
  request: {
    /**
     * Header fields of a request whose `Upgrade` is ignored; of any request node:http drops further fields.
     */
    headerFields: 1000,
    /**
     * Characters and segments of the path. The longest path that a client needs names a message of a
     * subscription: 2,200 characters with every name percent-encoded, and 137 segments.
     */
    pathLength: 4 * KB,
    pathSegments: 160,
    /** Characters of the `Accept` field; a longer field is ignored. */
    acceptLength: 1 * KB,
    /** Bytes of headers, and of bodies without a `Content-Length`, that are parsed in one piece. */
    turnPieceBytes: 4 * KB,
    /** A body up to this size counts as held when it is announced, a larger one as it arrives. */
    wholeBytes: 64 * KB,
    /** A longer body of JSON or XML is parsed in a turn of its own. */
    turnTextBytes: 4 * KB,
    /** A longer body of another kind is read in a turn of its own. */
    turnBytes: 64 * KB,
    /** Messages that are sent in one turn. */
    turnMessages: 100,
    /** Bytes of a body that are received before its reader asks for them; small chunks are joined up to it. */
    aheadBytes: 4 * KB,
    /** The rest of a body whose request is answered is discarded, so much and so long; then the connection ends. */
    discardedBytes: 128 * MB,
    discardedMs: 30 * SECOND_MS,
    /**
     * A transaction: as much as the largest request that a Lambda function accepts. An unauthorized request
     * is bounded by `connection.unauthorized.requestBytes`.
     */
    transactionBytes: 6 * MB,
    /** A JSON body that names messages. */
    namesBytes: 1 * MB,
    /** A JSON body that settles messages: 1,000 settlements with the longest reasons and descriptions. */
    settlementsBytes: 14 * MB,
    /** A batch in JSON, whatever size the entity allows. */
    batchBytes: 8 * MB,
    /** JSON bytes for each byte of messages in a batch: every character may be written as an escape. */
    batchBytesPerByte: 6,
    /** The names of fields, and properties that do not count as bytes of a message. */
    batchExtraBytes: 2 * MB,
    /** Values in one JSON text. */
    jsonValues: 200_000,
    jsonDepth: 64,
    /** Fields of one JSON object. */
    jsonFields: 1000,
    /** Memory for each byte of a body, with the copies that are made of it. */
    heldPerByte: 2,
    /** Memory for each byte of a JSON body, instead of `heldPerByte`. */
    heldPerJsonByte: 5,
    /** Bytes beyond these, of a message that is not JSON, count `heldPerLargeByte`. */
    largeBytes: 1 * MB,
    /** Memory for each of those bytes; they are copied several times until the message is stored. */
    heldPerLargeByte: 7,
    /**
     * Messages that are read together and have more bytes than this count more for each byte, also for the first ones.
     */
    readBytes: 3 * MB,
    /** Memory for each byte of messages that are read together, if they have at most `readBytes`. */
    heldPerSmallReadByte: 2,
    /** Memory for each byte of a single message that has more than `readBytes`; it is the body of the answer. */
    heldPerReadByte: 7,
    /** Memory for each byte of messages in a JSON answer, if they have more than `readBytes` together. */
    heldPerPrintedByte: 12,
    /** Memory for each byte of an XML body. */
    heldPerXmlByte: 20,
    /**
     * JSON of messages that are received together, if nothing else bounds it; a single message may be longer.
     */
    printedBytes: 8 * MB,
    /** Deferred messages that are received together by sequence number; a single message may be larger. */
    deferredBytes: 32 * MB,
    /** Copies that one send to a topic makes for all subscriptions; each weighs `weights.copyBytes`. */
    copies: 200_000,
    /** Fraction of the process's limit that the copies of one send may take. */
    copiesShareOfProcess: 0.5,
  },
  stored: {
    /** The fan-out intent that a publication to many subscriptions stores before it begins, uncompressed. */
    intentBytes: 16 * MB,
    /** Decompressed bytes of a stored item: the largest message, once for AMQP and once as JSON. */
    decompressedBytes: 256 * MB,
  },
  tokens: {
    /** Characters of one token. */
    length: 8 * KB,
    /** The cache of tokens with a verified signature. */
    cacheBytes: 4 * MB,
    /** Cached paths of entities that do not exist, for tokens that no rule of the namespace has signed. */
    missing: 1000,
    missKeptMs: 2000,
  },
  process: {
    /** Fraction of the heap limit that all authorized peers together may hold. */
    heldShareOfHeap: 0.5,
    /** What all unauthorized peers together may hold beside it, as a fraction of what authorized peers may hold. */
    heldShareUnauthorized: 0.125,
    /**
     * What peers that may be evicted may hold even if pinned ones, whose requests are running, fill the limit: as a
     * fraction of what authorized peers may hold.
     */
    heldShareBesidePinned: 0.125,
    /** Unauthorized AMQP connections; with more, the oldest is closed. */
    connectionsUnauthorized: 1000,
    /** Unauthorized connections over HTTP or of a protocol not known yet; with more, the oldest is closed. */
    otherConnectionsUnauthorized: 2000,
    /** AMQP connections that were closed to make room and whose peers have not answered the close yet. */
    connectionsEvicted: 100,
    /** HTTP requests at the gateway of a deployment; the same as at its API Gateway. */
    requests: { perSecond: 2000, burst: 1000 },
    /** Lines of the gateway's access log; lines beyond are dropped and counted. */
    accessLines: { perSecond: 500, burst: 5000 },
  },
  /** One client address at the gateway of a deployment, in each of its processes. */
  address: {
    /** The PROXY header in which the load balancer names the client's address. */
    proxyHeaderBytes: 536,
    /** Open connections. */
    openConnections: 2000,
    /** New connections. All clients behind one address may have to reconnect at once. */
    newConnections: { perSecond: 100, burst: 2000 },
    /** HTTP requests. */
    requests: { perSecond: 1000, burst: 2000 },
    /** An unauthorized request counts as this many requests. */
    refusedAsRequests: 10,
  },
  /** One shared access rule at the gateway of a deployment, in each of its processes. */
  rule: {
    /** Authorization checks: of requests, links, and groups of messages that are sent or received. */
    operations: { perSecond: 1000, burst: 2000 },
  },
  /** Addresses, and rules, whose rate a process tracks. */
  rateBuckets: 10_000,
  /** The root keys that a deployment reads from its secret. */
  rootKey: {
    /** After this time every process knows a new key and refuses the key before the last. */
    readAgainMs: 5 * MINUTE_MS,
    /** A key is used for this long after its last read while it cannot be read again. */
    keptMs: 60 * MINUTE_MS,
    /** Time between two reads after `keptMs`, since strangers decide how many requests arrive. */
    retryMs: 10 * SECOND_MS,
    /** Reads in each process for tokens that neither key has signed, since any client can make such a token. */
    changes: { perSecond: 0.1, burst: 3 },
  },
  filter: {
    /** One LIKE with a computed pattern: characters of the text × words of 31 characters of the pattern. */
    likeSteps: 256 * KB,
  },
  push: {
    /** The answer of a target, as long as one of Lambda may be; an HTTP address could go on without an end. */
    answerBytes: 6 * MB,
  },
  /** Time that the work for one peer may take before the work of others continues, ms. */
  turnMs: 1,
  /** Work in one piece may take longer; the excess is taken off at most this number of later turns. */
  turnsOwed: 20,
  /** A later turn makes up for `turnMs` of the excess, or for this fraction of its other work if that takes longer. */
  turnShare: 1 / 10,
  /** Requests to the database that bulk operations begin in one turn, and that one of them has under way. */
  turnRequests: 32,
  /**
   * Concurrent scans of one log, by how much they look for: each reads blocks that others are about to claim.
   */
  scansOfLog: { small: 8, large: 1 },
  /** Connections whose first bytes are inspected in one turn; those of TLS then begin the handshake. */
  turnFirstBytes: 20,
  /** Pieces of HTTP input that are parsed in one turn, of all authorized connections. */
  turnPieces: 100,
  /** Time for parsing pieces of authorized connections in one turn, ms; a piece that has begun is parsed to its end. */
  turnPiecesMs: 1,
  /** Pieces of HTTP input that are parsed in one turn, of all unauthorized connections. */
  turnPiecesUnauthorized: 10,
  /** Time for parsing pieces of unauthorized connections in one turn, ms. */
  turnPiecesUnauthorizedMs: 1,
  /** Receives and session accepts that are cancelled in one turn because their links have ended. */
  turnEnds: 50,
  /** Calls that begin in one turn and return the messages of ended links. */
  turnReturns: 4,
  /** One description of an entity or rule as XML. The work to parse it is linear in these numbers. */
  xml: {
    /** Far above any description: the largest have twelve keys, or a rule of 36 KB. */
    bytes: 128 * KB,
    /** The deepest description has nine levels. */
    depth: 32,
    /** More elements than filter parameters that fill all the bytes. */
    elements: 5000,
    /** Namespace declarations included. */
    attributes: 10_000,
    /** Namespace declarations in force at one element. The vendor's clients have six. */
    declarations: 32,
  },
  /** Bounds of the local server only. */
  localServer: {
    /** A request that moves the clock; it needs no authorization. */
    clockRequestBytes: 1 * KB,
    /** The description of the entities of a namespace. */
    configBytes: 1 * MB,
    /** Namespaces that run at once; each takes about 75 KB, and some requests of its sweep a minute. */
    namespaces: 1000,
    /** Namespaces that do not run, and that requests or connections without a proven right try at the same time. */
    namespacesVisited: 64,
    /** Namespaces that are being deleted while as many as allowed run. */
    namespacesEnding: 1000,
    /** Names that no namespace may have for a minute, because the process that used one has ended. */
    namespacesCondemned: 1000,
    /** Interval of the check whether the npm process that started the server is still alive. */
    launcherLookMs: 250,
    /** Time after a signal in which npm may pass on the same signal. */
    repeatedSignalMs: 500,
  },
} as const;
