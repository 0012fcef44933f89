import type { AwsCredentials } from '../direct/direct-options.ts';

/**
 * How to reach a namespace over its HTTP interface: with a connection string or, where IAM decides, with AWS
 * credentials.
 */
export type HttpsOptions = (WithKey | WithIam) & {
  /**
   * Whether sends get ids, so that they are sent again where an answer got lost, and are stored once. This costs some
   * write units more for each request. Batches of more than 100 messages go without an id, and messages without a key
   * to a partitioned entity. Default: false; then the client learns that the outcome is not known. The official clients
   * send again by themselves after that, so that the messages may be stored twice.
   */
  readonly sendsOnce?: boolean;
};

interface WithKey {
  /** That of the namespace, or of one of its entities, as the official clients take it. */
  readonly connectionString: string;
}

interface WithIam {
  /** The address of a deployment with IAM: `https://….execute-api.eu-west-1.amazonaws.com`. */
  readonly endpoint: string;
  /** Default: that in the address, or that of the process. */
  readonly region?: string;
  /** Credentials, or what gets them; default: those of the process, as the SDKs of AWS find them. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
}
