import { functionSettings } from '../../shared/app/deployed-settings.ts';
import { ONE_AT_A_TIME } from '../../shared/broker/create-broker.ts';
import { compose } from '../http/compose.ts';
import { httpHandler } from '../http/lambda.ts';
import { startFunction } from '../http/start-function.ts';

/** Serves the requests that API Gateway routes to no other function: management, paths of many segments. */
export const handler = startFunction(() => {
  const namespace = compose(functionSettings(process.env), ONE_AT_A_TIME);
  return httpHandler(namespace.app, () => namespace.idle());
});
