import { functionSettings } from '../../shared/app/deployed-settings.ts';
import { readAccess } from '../../shared/app/settings.ts';
import { ONE_AT_A_TIME } from '../../shared/broker/create-broker.ts';
import { compose } from '../http/compose.ts';
import { httpHandler } from '../http/lambda.ts';
import { startFunction } from '../http/start-function.ts';

/**
 * Serves every route: the requests that API Gateway routes to no other function, such as management and paths of many
 * segments, or all requests to a function URL.
 */
export const handler = startFunction(() => {
  const explorer = { place: 'deployed', access: readAccess(process.env) } as const;
  const namespace = compose({ ...functionSettings(process.env), explorer }, ONE_AT_A_TIME);
  return httpHandler(namespace.app, () => namespace.idle());
});
