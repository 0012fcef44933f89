/** The names under which deployment hands the functions their settings; data only, CDK reads it. */
export const VARIABLES = {
  entitiesTable: 'ENTITIES_TABLE',
  messagesTable: 'MESSAGES_TABLE',
  namespace: 'NAMESPACE',
  /** ARN of the secret; the key itself never stands in the environment. */
  rootKeySecret: 'ROOT_KEY_SECRET',
  receiveWaitMsMax: 'RECEIVE_WAIT_MS_MAX',
} as const;
