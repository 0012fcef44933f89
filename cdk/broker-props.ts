/** A rate: requests a second on average, and at once. */
export interface RateProps {
  /** Requests a second on average: a whole number of at least 1. */
  readonly rate?: number;
  /** Requests at once: a whole number of at least 1. */
  readonly burst?: number;
}

/** The memory of each function, MB, from 128 to 10,240. It also decides the function's share of a processor. */
export interface FunctionMemoryProps {
  /** Default: 512. Not with `endpoint` `functionUrl`. */
  readonly send?: number;
  /** Receives wait in it, and waiting is paid for by memory. Default: 256. Not with `endpoint` `functionUrl`. */
  readonly receive?: number;
  /** Default: 512. Not with `endpoint` `functionUrl`. */
  readonly settle?: number;
  /** Management and all paths without a route; with `endpoint` `functionUrl` every request. Default: 256. */
  readonly manage?: number;
  /** Default: 512. */
  readonly sweep?: number;
}

/** Reserved concurrent executions by function, which are also its maximum, from 1 to 10,000. Default: none. */
export interface FunctionConcurrencyProps {
  /** Not with `endpoint` `functionUrl`. */
  readonly send?: number;
  /** Not with `endpoint` `functionUrl`. */
  readonly receive?: number;
  /** Not with `endpoint` `functionUrl`. */
  readonly settle?: number;
  /** With `endpoint` `functionUrl`, all that bounds the number of requests. */
  readonly manage?: number;
  /** Sweeps do not overlap, so 1 is enough. */
  readonly sweep?: number;
}

/** Limits of one task of the AMQP gateway, for the clients behind one address and for those of one access policy. */
export interface AmqpLimitsProps {
  /** A whole number of at least 1. Default: twice `connectionsPerTask`, and at least 2000. */
  readonly openConnectionsPerAddress?: number;
  /** Default: `rate` 100, `burst` 2000. */
  readonly newConnectionsPerAddress?: RateProps;
  /** Requests over HTTP. Default: `rate` 1000, `burst` 2000. */
  readonly requestsPerAddress?: RateProps;
  /**
   * Authorization checks of one shared access policy: of requests, links, and groups of messages.
   * Default: `rate` 1000, `burst` 2000.
   */
  readonly operationsPerRule?: RateProps;
}

/** The AMQP gateway: a container in Fargate behind a network load balancer. It costs about $35 a month while idle. */
export interface AmqpProps {
  /** The ARN of a certificate in ACM, in the region of the stack: clients require TLS. */
  readonly certificateArn: string;
  /** The lower-case name that the certificate is for and that clients call, such as `bus.example.com`. */
  readonly domainName: string;
  /**
   * The id of the hosted zone in Route 53 in which the deployment creates the DNS record.
   * Default: you create it, as a CNAME of the load balancer's name.
   */
  readonly hostedZoneId?: string;
  /**
   * The id of an existing VPC, which synthesis looks up; the stack needs an account and a region for that.
   * Default: the deployment creates a VPC without cost.
   */
  readonly vpcId?: string;
  /** The least number of tasks, from 1 to 100. Default: 1. */
  readonly minTasks?: number;
  /** The largest number of tasks, from `minTasks` to 100. Default: 4. */
  readonly maxTasks?: number;
  /** Scaling adds tasks above this average number of connections, from 10 to 50,000. Default: 1000. */
  readonly connectionsPerTask?: number;
  /** CPU units of a task; 1024 are one vCPU. Default: 256. */
  readonly cpu?: 256 | 512 | 1024 | 2048;
  /** The memory of a task, MB, a size that Fargate has for `cpu`. Default: 512. */
  readonly memoryMb?: number;
  /** Limits of one task for the clients behind one address, and for those that use one policy. */
  readonly limits?: AmqpLimitsProps;
}

/** How messages are pushed to the targets of consumers. */
export interface PushProps {
  /**
   * The ARNs of up to 30 functions, without versions, that anybody with the right Manage may name as the target of a
   * consumer. The dispatcher may invoke them. Default: none; `addConsumer` of a queue or subscription needs no entry.
   */
  readonly targets?: readonly string[];
  /** The memory of the function that pushes, MB, from 128 to 10,240. Default: 256. */
  readonly memoryMb?: number;
}

/** The settings of a Broker. The defaults suit production. */
export interface BrokerProps {
  /**
   * The name of the namespace in management and metrics: 2 to 50 letters, digits and hyphens, the first a letter.
   * Default: made of the stack's name and the path of the construct, with a hash unless the path is `Default`.
   */
  readonly namespace?: string;
  /**
   * Bounds entities: no topics and sessions in `Basic`, large messages only in `Premium`. Default: `Standard`.
   */
  readonly tier?: 'Standard' | 'Basic' | 'Premium';
  /**
   * How callers are authorized: `sas`, tokens signed with keys of the namespace and its entities; or `iam`, AWS
   * policies, without any keys: on method and path, or with a function URL on the namespace as a whole. Default: `sas`.
   */
  readonly access?: 'sas' | 'iam';
  /**
   * What receives requests over HTTP: `apiGateway`, an HTTP API in front of a function for each kind of operation; or
   * `functionUrl`, the URL of one function, which costs less and cannot throttle, log or route. Default: `apiGateway`.
   */
  readonly endpoint?: 'apiGateway' | 'functionUrl';
  /**
   * Whether tables and root key outlive the stack, and the tables and the gateway's load balancer have deletion
   * protection. Entities outlive their stack, too, unless they say otherwise. Default: true.
   */
  readonly keepData?: boolean;
  /** Whether both tables are backed up continuously. Default: true. */
  readonly pointInTimeRecovery?: boolean;
  /** Days that logs are kept, a number that CloudWatch Logs knows; 9999 = for ever. Default: 30. */
  readonly logRetentionDays?: number;
  /** The memory of each function, MB. */
  readonly memoryMb?: FunctionMemoryProps;
  /** Reserved concurrent executions by function, which are also its maximum. Default: none. */
  readonly reservedConcurrency?: FunctionConcurrencyProps;
  /**
   * The longest that a receive waits for a message in a function, ms, from 0 to 20,000. A client that asks again at
   * once pays least for long waits. Default: 10,000.
   */
  readonly receiveWaitMsMax?: number;
  /** Minutes between two sweeps, which do due work in the background, from 1 to 60. Default: 1. */
  readonly sweepMinutes?: number;
  /**
   * Requests a second on average, and at once. Beyond that API Gateway answers 429, and each task of the AMQP gateway
   * 503. Default: `rate` 2000, `burst` 1000. With `endpoint` `functionUrl` only for the AMQP gateway.
   */
  readonly throttle?: RateProps;
  /**
   * Whether each request, and each connection and link of the AMQP gateway, is logged. Default: false. With `endpoint`
   * `functionUrl` only for the AMQP gateway.
   */
  readonly accessLogs?: boolean;
  /**
   * The least level of the lines that Lambda itself writes. `warn` has the reports of calls that failed or timed out,
   * which an alarm counts; `info` adds two lines for each call. Default: `warn`.
   */
  readonly platformLogs?: 'warn' | 'info' | 'debug';
  /** Whether X-Ray traces the functions. Default: false. */
  readonly tracing?: boolean;
  /**
   * Whether the messages table has a stream, by which the AMQP gateway, and processes with `grantDirect` that ask for
   * it, find messages of other processes sooner and look less often. Reading it costs requests while receivers wait.
   * Default: false.
   */
  readonly streamWakeUps?: boolean;
  /**
   * Whether the broker pushes messages to the targets of consumers: two more functions, and a stream of the messages
   * table. It costs nothing while no consumer has messages. Default: false.
   */
  readonly push?: boolean | PushProps;
  /** The ARN of a standard SNS topic for alarms. Default: alarms only show in the console. */
  readonly alarmTopicArn?: string;
  /** Enables AMQP for the official SDKs; only with `access` `sas`. Default: off. */
  readonly amqp?: AmqpProps;
}
