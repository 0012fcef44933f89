import { composeParts } from '../../shared/app/compose-parts.ts';
import { functionParts } from '../../shared/app/deployed-parts.ts';
import { httpDependencies } from '../http/http-dependencies.ts';
import { httpHandler } from '../http/lambda.ts';
import { receiveRoutes } from '../http/routes/receive.ts';
import { startFunction } from '../http/start-function.ts';

/** Serves receives from entities whose path is one segment. */
export const handler = startFunction(() => {
  const settings = functionParts(process.env);
  const dependencies = httpDependencies(composeParts(settings), settings);
  return httpHandler(receiveRoutes(dependencies), () => dependencies.background.settled());
});
