import { compose } from '../http/compose.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';

/** Answers everything that no other function is given: management, and paths of many segments. */
export const handler = httpHandler(compose(httpLambdaParts(process.env)).app);
