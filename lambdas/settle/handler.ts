import { composeParts } from '../../shared/app/compose-parts.ts';
import { functionParts } from '../../shared/app/deployed-parts.ts';
import { httpDependencies } from '../http/http-dependencies.ts';
import { httpHandler } from '../http/lambda.ts';
import { settleRoutes } from '../http/routes/settle.ts';
import { startFunction } from '../http/start-function.ts';

/** Serves settlements at entities whose path is one segment. */
export const handler = startFunction(() => {
  const settings = functionParts(process.env);
  const dependencies = httpDependencies(composeParts(settings), settings);
  return httpHandler(settleRoutes(dependencies), () => dependencies.background.settled());
});
