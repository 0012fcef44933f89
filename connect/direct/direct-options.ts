import type { Tier } from '../../shared/domain/entities/tier.ts';

/** Credentials of AWS. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** When they expire; absent = never. */
  readonly expiration?: Date;
}

/**
 * Which tables to use, and how to reach AWS. The construct `Broker` of `dynabus/cdk` gives the first four as
 * `directSettings`.
 */
export interface DirectOptions {
  readonly entitiesTable: string;
  readonly messagesTable: string;
  /** The name of the namespace, which is part of every key. */
  readonly namespace: string;
  /** Must be that of the deployment; default: Standard. */
  readonly tier?: Tier;
  /** Default: that of the process, such as AWS_REGION. */
  readonly region?: string;
  /** Credentials, or what gets them; default: those of the process, as the SDKs of AWS find them. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /**
   * Whether the stream of the messages table wakes waiting receivers, which then look less often. The construct
   * `Broker` gives the table a stream with `streamWakeUps`; reading it costs requests. Default: false.
   */
  readonly stream?: boolean;
  /** The address of DynamoDB; default: that of the region. */
  readonly endpoint?: string;
}
