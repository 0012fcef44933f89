import { functionParts } from '../../shared/app/deployed-parts.ts';
import { compose } from '../http/compose.ts';
import { httpHandler } from '../http/lambda.ts';
import { startFunction } from '../http/start-function.ts';

/** Answers everything that no other function is given: management, and paths of many segments. */
export const handler = startFunction(() => {
  const namespace = compose(functionParts(process.env));
  return httpHandler(namespace.app, () => namespace.idle());
});
