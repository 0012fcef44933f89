import { compose } from '../http/compose.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';

const namespace = compose(httpLambdaParts(process.env));

/** Answers everything that no other function is given: management, and paths of many segments. */
export const handler = httpHandler(namespace.app, () => namespace.idle());
