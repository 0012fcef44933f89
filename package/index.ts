/** The package `dynabus`: connection strings, and tokens for calls over HTTP. */
export {
  type ConnectionString,
  ConnectionStringError,
  formatConnectionString,
  httpAddress,
  parseConnectionString,
} from '../shared/auth/connection-string.ts';
export { createSasToken, type SasTokenOptions } from '../shared/auth/create-sas-token.ts';
