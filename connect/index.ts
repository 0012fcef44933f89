import type { DirectOptions } from './direct/direct-options.ts';
import { openDirect } from './direct/open-direct.ts';
import type { HttpsOptions } from './https/https-options.ts';
import { openHttps } from './https/open-https.ts';
import { webSocketOf } from './in-process/web-socket.ts';
import type { ConnectedWebSocket } from './web-socket-types.ts';

/** The API of `dynabus/connect`. */

export type { AwsCredentials, DirectOptions } from './direct/direct-options.ts';
export type { HttpsOptions } from './https/https-options.ts';
export type { ClientSocket, ConnectedWebSocket, SocketMessage } from './web-socket-types.ts';

/** How to reach the namespace: over HTTPS, or by its tables in DynamoDB with the AWS credentials of this process. */
export type ConnectOptions = HttpsOptions | { readonly direct: DirectOptions };

/**
 * Makes a class for the option `webSocketOptions.webSocket` of `ServiceBusClient`, so that the official client works
 * without any server: the AMQP surface runs in this process. Make one class a namespace and process; its clients share
 * requests to the database.
 */
export function createWebSocket(options: ConnectOptions): ConnectedWebSocket {
  return webSocketOf('direct' in options ? openDirect(options.direct) : openHttps(options));
}
