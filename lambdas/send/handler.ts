import { composeDependencies } from '../../shared/app/compose-dependencies.ts';
import { functionSettings } from '../../shared/app/deployed-settings.ts';
import { httpDependencies } from '../http/http-dependencies.ts';
import { httpHandler } from '../http/lambda.ts';
import { sendRoutes } from '../http/routes/send.ts';
import { startFunction } from '../http/start-function.ts';

/** Serves sends to entities whose path is one segment. */
export const handler = startFunction(() => {
  const settings = functionSettings(process.env);
  const dependencies = httpDependencies(composeDependencies(settings), settings);
  return httpHandler(sendRoutes(dependencies), () => dependencies.background.settled());
});
